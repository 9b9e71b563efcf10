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
});
