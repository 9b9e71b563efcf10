import { describe, expect, it } from '@jest/globals';
import type { TokenRecord } from '../../auth/tokens/token-record.js';
import { tokenTable } from './token-output.js';

describe(tokenTable.name, () => {
  const record: TokenRecord = {
    id: 7,
    name: 'ci',
    scopes: ['plants:create'],
    createdAt: new Date('2030-01-02T03:04:05.678Z'),
    expiresAt: null,
    lastUsedAt: null,
    revokedAt: null,
    state: 'valid',
  };

  it('should have a column for each thing, as wide as it must be, and times in UTC', () => {
    const other: TokenRecord = {
      ...record,
      id: 12,
      name: 'gardener@example.com',
      scopes: ['plants:create', 'plants:read'],
      expiresAt: new Date('2030-04-02T03:04:05.678Z'),
      lastUsedAt: new Date('2030-01-02T04:00:00Z'),
      state: 'expired',
    };
    expect(tokenTable([record, other]).split('\n')).toEqual([
      'ID   NAME                   SCOPES                      CREATED                EXPIRES                LAST USED              STATE',
      '7    ci                     plants:create               2030-01-02T03:04:05Z   never                  -                      valid',
      '12   gardener@example.com   plants:create,plants:read   2030-01-02T03:04:05Z   2030-04-02T03:04:05Z   2030-01-02T04:00:00Z   expired',
    ]);
  });

  it('should be the header alone if there are none', () => {
    expect(tokenTable([])).toBe('ID   NAME   SCOPES   CREATED   EXPIRES   LAST USED   STATE');
  });

  it('should pass no control characters on to a terminal', () => {
    const table = tokenTable([{ ...record, name: 'a\u001b[2Jb\nc', scopes: ['\u009b31m', '\u2028'] }]);
    expect(table.split('\n')).toHaveLength(2);
    expect(table).toContain('a\\u001b[2Jb\\u000ac');
    expect(table).toContain('\\u009b31m,\\u2028');
  });

  it('should show that a token has no scopes', () => {
    expect(tokenTable([{ ...record, scopes: [] }])).toMatch(/ci +- +2030/);
  });
});
