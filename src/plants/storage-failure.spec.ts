import { describe, expect, it } from '@jest/globals';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
} from '../database/database.errors.js';
import { isPlantRejected, isUndecided, PlantLeftOutError, storageError } from './storage-failure.js';

const SECRET = 'INSERT INTO plants';

const adapterError = (cause: object): Error => new DriverAdapterError(cause as never);
const rejected = (originalCode: string, severity?: string): Error => adapterError({ originalCode, severity });

const ofClient = (driverAdapterError: Error): Error => Object.assign(new Error(), { meta: { driverAdapterError } });

describe(storageError.name, () => {
  it.each([
    ['no connection could be made', 50300, new DatabaseUnreachableError()],
    ['every connection stayed busy', 50301, new ConnectionPoolExhaustedError()],
    ['the server is read-only for now', 50300, rejected('25006', 'ERROR')],
    ['a transaction was rolled back', 50300, rejected('40001')],
    ['resources ran out', 50300, rejected('53100', 'ERROR')],
    ['an object was in use', 50300, rejected('55P03', 'ERROR')],
    ['an operator intervened', 50300, rejected('57P03', 'ERROR')],
    ['the system failed', 50300, rejected('58030', 'ERROR')],
    ['the statement was cancelled', 50400, rejected('57014', 'ERROR')],
    ['the server does not know itself', 50400, rejected('40003', 'ERROR')],
    ['a pooler lost the server', 50400, rejected('08006', 'ERROR')],
    ['the session was ended', 50400, rejected('57P01', 'FATAL')],
    ['the whole server went down', 50400, rejected('53100', 'PANIC')],
    ['the severity is in a language unknown to us', 50400, rejected('53100', 'ERREUR')],
    ['the connection was closed', 50400, adapterError({ kind: 'ConnectionClosed' })],
    ['no answer came in time', 50400, new DatabaseTimeoutError()],
    ['pg waited for too long', 50400, new Error('Query read timeout')],
    ['something that is no error was thrown', 50400, undefined],
    ['a constraint is violated, in another language', 50000, rejected('23514', 'FEHLER')],
    ['the table is missing', 50000, rejected('42P01')],
    ['a privilege is missing', 50000, rejected('42501', 'ERROR')],
    ["a privilege is missing, in an error of Prisma's client", 50000, ofClient(rejected('42501', 'ERROR'))],
    ['a trigger leaves the plant out', 50000, new PlantLeftOutError()],
    ['the server has a bug', 50000, rejected('XX000', 'ERROR')],
  ])('should, if %s, be %d, with the cause for the log alone', (_, error, cause) => {
    const failure = storageError(cause);
    expect(failure.error).toBe(error);
    expect(failure.cause).toBe(cause);
    expect(failure.message).not.toMatch(SECRET);
  });

  it('should promise that nothing was written, and say when to send again, only if that is certain', () => {
    const { message, headers } = storageError(new DatabaseUnreachableError());
    expect(message).toMatch('Nothing was written');
    expect(headers).toEqual({ 'Retry-After': '1' });

    const unknown = storageError(new Error('Connection terminated unexpectedly'));
    expect(unknown.message).toMatch('unknown');
    expect(unknown.headers).toEqual({});
  });
});

describe(isPlantRejected.name, () => {
  it.each([
    [true, 'a plain rejection', rejected('23514', 'ERROR')],
    [true, 'a rejection of a kind that the adapter knows', rejected('23505')],
    [true, 'a rejection in another language', rejected('23514', 'FEHLER')],
    [false, 'a server that takes no writes now', rejected('25006', 'ERROR')],
    [false, 'a privilege that is missing', rejected('42501', 'ERROR')],
    [false, 'a full disk', rejected('53100', 'ERROR')],
    [false, 'the end of the session', rejected('57P01', 'FATAL')],
    [false, 'a lost connection', adapterError({ kind: 'ConnectionClosed' })],
    [false, 'a connection that was never made', new DatabaseUnreachableError()],
  ])('should be %s for %s', (expected, _, error) => {
    expect(isPlantRejected(error)).toBe(expected);
  });
});

describe(isUndecided.name, () => {
  it.each([
    [false, 'a plain rejection', rejected('23514', 'ERROR')],
    [true, 'a rejection that leaves the outcome open', rejected('57014', 'ERROR')],
    [true, 'a failure that is no rejection', new Error('Connection terminated unexpectedly')],
    [false, 'a connection that was never made', new DatabaseUnreachableError()],
    [false, 'a statement that got no connection', new ConnectionPoolExhaustedError()],
  ])('should be %s for %s', (expected, _, error) => {
    expect(isUndecided(error)).toBe(expected);
  });
});
