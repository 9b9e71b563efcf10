import { describe, expect, it } from '@jest/globals';
import { DriverAdapterError } from '@prisma/driver-adapter-utils';
import {
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
} from '../database/database.errors.js';
import { isPlantRejected, isUndecided, PlantLeftOutError, storageError } from './storage-failure.js';

const adapterError = (cause: object): Error => new DriverAdapterError(cause as never);
const rejected = (originalCode: string, severity?: string): Error => adapterError({ originalCode, severity });
const ofClient = (driverAdapterError: Error): Error => Object.assign(new Error(), { meta: { driverAdapterError } });

describe(storageError.name, () => {
  it.each([
    ['no connection could be made', 50300, new DatabaseUnreachableError()],
    ['every connection stayed busy', 50301, new DatabaseOverloadedError()],
    ['the server is read-only for now', 50300, rejected('25006', 'ERROR')],
    ['resources ran out', 50300, rejected('53100', 'ERROR')],
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
    ['the table is missing', 50000, rejected('42P01')],
    ["a privilege is missing, in an error of Prisma's client", 50000, ofClient(rejected('42501', 'ERROR'))],
    ['a trigger leaves the plant out', 50000, new PlantLeftOutError()],
  ])('should, if %s, be %d, for all plants of a statement', (_, error, cause) => {
    const failure = storageError(cause);
    expect([failure.error, failure.cause]).toEqual([error, cause]);
    expect(isUndecided(cause)).toBe(error === 50400);
    if (error !== 50400) expect(isPlantRejected(cause)).toBe(false);
    expect(failure.message.includes('Nothing was written')).toBe(error === 50300 || error === 50301);
    expect(failure.headers).toEqual(failure.message.includes('Nothing') ? { 'Retry-After': '1' } : {});
  });

  it.each([
    ['a transaction was rolled back', 50300, rejected('40001')],
    ['an object was in use', 50300, rejected('55P03', 'ERROR')],
    ['a constraint is violated, in another language', 50000, rejected('23514', 'FEHLER')],
    ['the adapter knows the kind of rejection', 50000, rejected('23505')],
    ['the server has a bug', 50000, rejected('XX000', 'ERROR')],
  ])('should, if %s, be %d, and may be the fault of one plant alone', (_, error, cause) => {
    expect([storageError(cause).error, isUndecided(cause), isPlantRejected(cause)]).toEqual([error, false, true]);
  });
});
