import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  DatabaseLostError,
  DatabaseOverloadedError,
  DatabaseTimeoutError,
  isPlantRejected,
  isRejection,
  isUndecided,
  keepsSession,
  storageError,
} from './database.errors.js';

/** An answer of the server, as pg gives it. */
const answer = (code: string, severity: string): Error =>
  Object.assign(new pg.DatabaseError('', 0, 'error'), { code, severity });
/** An error of Prisma's client for a rejection. */
const ofPrisma = (originalCode?: string, code = 'P2010'): Error =>
  Object.assign(new Error(), { code, meta: { driverAdapterError: { cause: { originalCode } } } });

describe(isRejection.name, () => {
  it.each([
    ['a constraint is violated', '23514', 'ERROR', true, true],
    ['it is so in another language', '23514', 'FEHLER', true, true],
    ['the server has a bug', 'XX000', 'ERROR', true, true],
    ['the server is read-only for now', '25006', 'ERROR', true, false],
    ['the statement was cancelled', '57014', 'ERROR', true, false],
    ['the session was ended', '57P01', 'FATAL', false, false],
    ['the whole server went down', '53100', 'PANIC', false, false],
    ['the severity is in a language unknown to us', '53100', 'ERREUR', false, false],
  ])('should know, if %s (%s, %s), that it is %s, and the session is good: %s', (_, code, severity, is, isGood) => {
    const error = answer(code, severity);
    expect([isRejection(error), keepsSession(error)]).toEqual([is, isGood]);
  });

  it('should not take an error of the network for one', () => {
    expect(isRejection(Object.assign(new Error(), { code: 'EPIPE' }))).toBe(false);
  });
});

describe(storageError.name, () => {
  it.each([
    ['the server is read-only for now', 50300, false, ofPrisma('25006')],
    ['an operator intervened', 50300, false, ofPrisma('57P03')],
    ['the system failed', 50300, false, ofPrisma('58030')],
    ['an object was in use', 50300, true, ofPrisma('55P03')],
    ['all connections stayed busy', 50301, false, new DatabaseOverloadedError('')],
    ['the statement was cancelled', 50400, false, ofPrisma('57014')],
    ['the server does not know itself', 50400, false, ofPrisma('40003')],
    ['no answer came in time', 50400, false, new DatabaseTimeoutError()],
    ['the connection was lost by a rejection', 50400, false, new DatabaseLostError('', { cause: answer('57P01', '') })],
    ['Prisma could not reach the server', 50400, false, ofPrisma(undefined, 'P1001')],
    ['Prisma lost the connection', 50400, false, Object.assign(new Error(), { code: 'P1017' })],
    ['something that is no error was thrown', 50400, false, undefined],
    ['a privilege is missing', 50000, false, ofPrisma('42501')],
    ['a constraint is violated', 50000, true, ofPrisma('23505', 'P2002')],
    ['the server has a bug', 50000, true, ofPrisma('XX000')],
  ])('should, if %s, be %d, perhaps for one plant alone: %s', (_, error, isOfOne, cause) => {
    const failure = storageError(cause);
    expect([failure.error, failure.cause, isUndecided(cause)]).toEqual([error, cause, error === 50400]);
    // Of what is undecided, nothing is sent alone.
    if (error !== 50400) expect(isPlantRejected(cause)).toBe(isOfOne);
  });
});
