import { describe, expect, it } from '@jest/globals';
import type { JWTPayload } from 'jose';
import { jwtPrincipal } from './jwt-principal.js';

describe(jwtPrincipal.name, () => {
  it('should be named as the subject, apart from tokens of the same name, and one for metrics with all others', () => {
    expect(jwtPrincipal({ sub: 'static', scope: 'plants:create' })).toEqual({
      name: 'static',
      scopes: ['plants:create'],
      limitKey: 'jwt:static',
      metricLabel: 'jwt',
    });
  });

  it.each(['a', 'x'.repeat(255), 'auth0|5f7c', 'Zoë 🌱', 'a\u2028b'])('should have the subject %j', (sub) => {
    expect(jwtPrincipal({ sub })?.name).toBe(sub);
  });

  it.each([
    '',
    'x'.repeat(256),
    'a\0',
    'a\nb',
    '\u001b[2J',
    '\u0085',
    '\ud800',
    'a\udc00',
    undefined,
    null,
    5,
    ['a'],
    {},
  ])('should be nobody with the subject %j', (sub) => {
    expect(jwtPrincipal({ sub } as JWTPayload)).toBeUndefined();
  });

  it.each([
    [{}, []],
    [{ scope: 'openid plants:create' }, ['openid', 'plants:create']],
    [{ scope: '  a  b ' }, ['a', 'b']],
    [{ scp: 'a b' }, ['a', 'b']],
    [{ scp: ['a', 'b c'] }, ['a', 'b c']],
    [{ scope: 'a b', scp: ['b', 'c'] }, ['a', 'b', 'c']],
    [{ scope: '', scp: [] }, []],
    [{ scope: ['plants:create'] }, []],
    [{ scope: { 'plants:create': true }, scp: 5 }, []],
    [{ scope: null, scp: null }, []],
    [{ scp: ['plants:create', 5] }, []],
    [{ scope: 'plants:create\tx' }, ['plants:create\tx']],
  ])('should have of %j the scopes %j', (claims, scopes) => {
    expect(jwtPrincipal({ sub: 'a', ...claims })?.scopes).toEqual(scopes);
  });
});
