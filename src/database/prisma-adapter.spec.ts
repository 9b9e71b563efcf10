import { describe, expect, it } from '@jest/globals';
import { statementNames } from './prisma-adapter.js';

describe(statementNames.name, () => {
  it('should give each statement one name, and no two the same', () => {
    const nameOf = statementNames();
    const name = nameOf({ sql: 'SELECT 1' });
    expect(name).not.toBe('');
    expect(nameOf({ sql: 'SELECT 2' })).not.toBe(name);
    expect(nameOf({ sql: 'SELECT 1' })).toBe(name);
  });

  it('should name no more than a hundred, whatever comes', () => {
    const nameOf = statementNames();
    const names = Array.from({ length: 200 }, (_, index) => nameOf({ sql: `SELECT ${index}` }));
    expect(new Set(names.slice(0, 100)).size).toBe(100);
    expect(new Set(names.slice(100))).toEqual(new Set(['']));
    expect(nameOf({ sql: 'SELECT 0' })).toBe(names[0]);
  });
});
