import { describe, expect, it } from '@jest/globals';
import { makeToken } from '../../auth/tokens/token.js';
import { UsageError } from '../usage.error.js';
import { parseScopes } from './scope-list.js';

describe(parseScopes.name, () => {
  it.each([
    [['plants:create'], ['plants:create']],
    [
      ['plants:create', 'plants:read'],
      ['plants:create', 'plants:read'],
    ],
    [['plants:create,plants:read'], ['plants:create', 'plants:read']],
    [
      [' b  a,\tb ,', 'a'],
      ['b', 'a'],
    ],
    [["https://example.com/scopes#a?b=[c]&d'!~"], ["https://example.com/scopes#a?b=[c]&d'!~"]],
  ])('should read %j, each scope once', (values, scopes) => {
    expect(parseScopes(values)).toEqual(scopes);
  });

  it.each(['"', 'a"b', 'a\\b', 'grün', 'a\u0000b', '\u001b[31m', '\u007f', 'x'.repeat(101)])(
    'should refuse %j',
    (scope) => {
      expect(() => parseScopes(['plants:create', scope])).toThrow(UsageError);
      expect(() => parseScopes([scope])).toThrow('should have 1 to 100 visible ASCII characters');
    },
  );

  it.each([[['']], [[' , ']]])('should refuse %j, which names none', (values) => {
    expect(() => parseScopes(values)).toThrow('--scope is empty, should be a scope such as plants:create');
  });

  it('should refuse a token, and not repeat it', () => {
    const token = makeToken();
    expect(() => parseScopes([token])).toThrow('--scope is an access token, should be a scope such as plants:create');
  });

  it('should refuse more than anybody has use for', () => {
    const scopes = Array.from({ length: 51 }, (_, index) => `scope${index}`);
    expect(parseScopes(scopes.slice(1))).toHaveLength(50);
    expect(() => parseScopes(scopes)).toThrow('--scope names 51 scopes, should be 50 at most');
  });
});
