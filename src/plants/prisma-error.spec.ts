import { describe, expect, it } from '@jest/globals';
import {
  ConnectionPoolExhaustedError,
  DatabaseTimeoutError,
  DatabaseUnreachableError,
} from '../database/connection-pool.error.js';
import { Prisma } from '../database/generated/client.js';
import { isUniqueViolation, lookupError, writeError } from './prisma-error.js';

const SECRET = 'INSERT INTO plants';

function requestError(code: string, cause?: object): Error {
  const meta = { driverAdapterError: { cause } };
  return new Prisma.PrismaClientKnownRequestError(SECRET, { code, clientVersion: '7', meta });
}

const rejected = (originalCode: string, severity?: string): Error => requestError('P2010', { originalCode, severity });

describe(writeError.name, () => {
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
    ['the connection was closed', 50400, requestError('P1017', { kind: 'ConnectionClosed' })],
    ['Prisma tells nothing of its cause', 50400, requestError('P2024')],
    ['no answer came in time', 50400, new DatabaseTimeoutError()],
    ['pg waited for too long', 50400, new Error('Query read timeout')],
    ['something that is no error was thrown', 50400, undefined],
    ['the table is missing', 50000, rejected('42P01')],
    ['a privilege is missing', 50000, rejected('42501', 'ERROR')],
    ['the server has a bug', 50000, rejected('XX000', 'ERROR')],
  ])('should, where %s, be %d, with the cause for the log alone', (_, error, cause) => {
    const failure = writeError(cause);
    expect(failure.error).toBe(error);
    expect(failure.cause).toBe(cause);
    expect(failure.message).not.toMatch(SECRET);
  });

  it('should promise that nothing was written, and say when to send again, only where that is certain', () => {
    const { message, headers } = writeError(new DatabaseUnreachableError());
    expect(message).toMatch('Nothing was written');
    expect(headers).toEqual({ 'Retry-After': '1' });

    const unknown = writeError(new Error('Connection terminated unexpectedly'));
    expect(unknown.message).toMatch('unknown');
    expect(unknown.headers).toEqual({});
  });
});

describe(lookupError.name, () => {
  it.each([
    ['every connection stayed busy', 50301, new ConnectionPoolExhaustedError()],
    ['no connection could be made', 50300, new DatabaseUnreachableError()],
    ['no answer came in time', 50300, new DatabaseTimeoutError()],
    ['the connection was lost', 50300, new Error('Connection terminated unexpectedly')],
    ['the plant is gone meanwhile', 50300, requestError('P2025')],
  ])('should, where %s, be %d, for nothing was written', (_, error, cause) => {
    expect(lookupError(cause)).toMatchObject({ error, cause });
  });
});

describe(isUniqueViolation.name, () => {
  it('should tell a taken id from every other failure', () => {
    expect(isUniqueViolation(requestError('P2002'))).toBe(true);
    expect(isUniqueViolation(requestError('P2010'))).toBe(false);
    expect(isUniqueViolation(Object.assign(new Error(), { code: 'P2002' }))).toBe(false);
  });
});
