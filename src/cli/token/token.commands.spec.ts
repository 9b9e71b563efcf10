import { describe, expect, it } from '@jest/globals';
import { outcomeOfCommandLine } from '../../../test/support/service/run-command-line.js';
import { makeToken } from '../../auth/token-format.js';

describe('plant-store token, called for help, or wrongly', () => {
  it.each([
    ['token --help', ['token create', 'token list', 'token revoke', 'token rotate']],
    ['token -h', ['token create']],
    ['token create --help', ['create NAME', '--name', '--expires', '--scope', '--schema', '90d with create', 'never']],
    ['token list -h', ['--json', 'lastUsedAt']],
    ['token revoke --help', ['NAME|ID', '2 seconds']],
    ['token rotate --help', ['--overlap', '1h unless given', '--expires']],
  ])('should explain itself to "plant-store %s"', async (command, words) => {
    const help = await outcomeOfCommandLine(command.split(' '));
    expect([help.stderr, help.code]).toEqual(['', 0]);
    for (const word of words) expect(help.stdout).toContain(word);
  });

  it.each([
    [['token'], 'a command is missing behind token', 'plant-store token create'],
    [['token', 'make'], 'there is no command "token make"', 'plant-store token create'],
    [['token', 'constructor'], 'there is no command "token constructor"', 'plant-store token create'],
    [['token', '--json'], 'there is no option "--json"', 'plant-store token list [--json]'],
    [['token', 'create'], 'NAME is missing behind token create', 'plant-store token create NAME'],
    [['token', 'create', 'a', '--name', 'b'], 'the name is given twice', 'plant-store token create NAME'],
    [['token', 'create', 'a', 'b'], 'token create takes no "b"', 'plant-store token create NAME'],
    [['token', 'create', 'static'], 'NAME is "static": a name must not be', 'plant-store token create NAME'],
    [['token', 'create', '-5'], 'there is no option "-5"', 'plant-store token create NAME'],
    [['token', 'lst'], 'there is no command "token lst"', 'plant-store token list'],
    [['token', 'list', '--jsno'], 'there is no option "--jsno"', 'plant-store token list'],
    [['token', 'create', '--nmae', 'a'], 'there is no option "--nmae"', 'token create NAME'],
    [
      ['token', 'create', 'a', '--scope', 'plants:delete'],
      'there is no scope "plants:delete". The store has one',
      'create',
    ],
    [['token', 'create', 'a', '--scope', '-5'], '--scope is followed by "-5", should be', 'token create'],
    [['token', 'create', 'a', '--scope', 'Plants:Create'], 'there is no scope "Plants:Create".', 'create'],
    [['token', 'create', 'a', '--scope', 'plants:create,read'], 'there is no scope "read".', 'token create'],
    [['token', 'create', 'a', '--scope', ':read'], 'there is no scope ":read".', 'token create'],
    [['token', 'create', '--name'], "Option '--name <value>' argument missing", 'plant-store token create NAME'],
    [['token', 'create', '--name', 'a', '--name', 'b'], '--name is given more than once', 'token create NAME'],
    [
      ['token', 'create', '--name', 'a', '--overlap=1h'],
      'there is no option "--overlap"',
      'plant-store token create NAME',
    ],
    [['token', 'create', '--name', ''], '--name is "": a name must have 1 to 100', 'plant-store token create'],
    [['token', 'create', '--name', ' ci'], '--name is " ci": a name must have 1 to 100', 'plant-store token create'],
    [
      ['token', 'create', '--name', 'a\u001b[2J\n'],
      '--name is "a\\u001b[2J\\n": a name must',
      'plant-store token create',
    ],
    [['token', 'create', '--name', '12'], 'a name must not be made of digits alone', 'plant-store token create'],
    [
      ['token', 'create', '--name', 'jwt'],
      'a name must not be static or jwt, nor begin with jwt:',
      'plant-store token create',
    ],
    [['token', 'create', '--name', "x'; DROP TABLE plants; --"], 'a name must have', 'plant-store token create'],
    [['token', 'create', '--name', 'x'.repeat(100_000)], `--name is "${'x'.repeat(59)}…"`, 'plant-store token create'],
    [['token', 'create', '--name', 'a', '--expires', '0d'], '--expires is "0d", should be', 'plant-store token create'],
    [['token', 'create', '--name', 'a', '--expires', 'soon'], '--expires is "soon", should be', 'token create'],
    [['token', 'create', '--name', 'a', '--expires', '2030-02-30'], '--expires is "2030-02-30"', 'token create'],
    [['token', 'create', '--name', 'a', '--expires', '101y'], 'should be 100y at most', 'plant-store token create'],
    [['token', 'create', '--name', 'a', '--scope', ''], '--scope is empty', 'plant-store token create'],
    [['token', 'create', '--name', 'a', '--scope', 'a"b'], '--scope is "a\\"b"', 'plant-store token create'],
    [['token', 'list', 'ci'], 'token list takes no "ci"', 'plant-store token list'],
    [['token', 'revoke'], 'NAME or ID is missing behind token revoke', 'plant-store token revoke NAME|ID'],
    [['token', 'revoke', 'a', 'b'], 'token revoke takes no "b"', 'plant-store token revoke NAME|ID'],
    [['token', 'revoke', '--all'], 'there is no option "--all"', 'plant-store token revoke NAME|ID'],
    [['token', 'rotate'], 'NAME is missing behind token rotate', 'plant-store token rotate NAME'],
    [['token', 'rotate', '7'], '"7" is an id, should be a name', 'plant-store token rotate NAME'],
    [['token', 'rotate', 'a', '--overlap', 'never'], '--overlap is "never", should be', 'plant-store token rotate'],
    [
      ['token', 'rotate', 'a', '--overlap', '-1h'],
      '--overlap is followed by "-1h", should be followed by its value: one that begins with a dash is given as --overlap=-1h',
      'token rotate NAME',
    ],
    [['token', 'rotate', 'a', '--overlap=-1h'], '--overlap is "-1h", should be', 'plant-store token rotate'],
    [['token', 'create', '--name', '-x'], 'is given as --name=-x', 'plant-store token create'],
    [['token', 'create', '--name=-x'], '--name is "-x": a name must', 'plant-store token create'],
    [['token', 'create', '--expires', '-5d', '--name', 'a'], 'is given as --expires=-5d', 'token create NAME'],
    [['token', 'create', '--name', '--expires', '5d'], '--name is followed by "--expires"', 'token create NAME'],
    [['token', 'create', '--name', '-', '--jsn'], 'there is no option "--jsn"', 'token create NAME'],
    [['token', 'list', '--json=3'], "Option '--json' does not take an argument", 'plant-store token list'],
    [['token', 'rotate', 'a', '--overlap', ''], '--overlap is "", should be', 'plant-store token rotate'],
  ])('should refuse %j, say why, and exit with 2', async (args, reason, usage) => {
    const refused = await outcomeOfCommandLine(args);
    expect([refused.stdout, refused.code]).toEqual(['', 2]);
    expect(refused.stderr).toContain(`plant-store: ${reason.startsWith('-') ? reason : ''}`);
    expect(refused.stderr).toContain(reason);
    expect(refused.stderr).toContain(usage);
    expect(refused.stderr).not.toContain('plant-store serve ');
  });

  const steering = '\u001b[31mfoo\u009b2J';
  it.each([
    [steering],
    ['token', steering],
    ['token', 'list', steering],
    ['token', 'list', `--${steering}`],
    ['token', `--${steering}`],
    [`-${steering}`],
    ['token', 'create', '--name', `-${steering}`],
    ['token', 'create', '--name', steering],
    ['token', 'create', '--name', 'a', '--expires', steering],
    ['token', 'create', '--name', 'a', '--scope', steering],
    ['token', 'rotate', 'a', '--overlap', steering],
    ['token', 'list', `--json=${steering}`],
    ['serve', `--${steering}. And more`],
  ])('should pass no control characters of an argument on to a terminal (%#)', async (...args) => {
    const refused = await outcomeOfCommandLine(args);
    expect([refused.stdout, refused.code]).toEqual(['', 2]);
    expect(refused.stderr).toMatch(/^plant-store: /);
    expect(refused.stderr).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it('should shorten what is wrong and very long', async () => {
    const refused = await outcomeOfCommandLine(['token', 'list', `--${'x'.repeat(100_000)}`]);
    expect(refused.stderr).toContain(`there is no option "--${'x'.repeat(57)}…"`);
  });

  const token = makeToken();
  it.each([
    [['token', 'list', `${'x'.repeat(30)}${token}`]],
    [['token', 'list', `--${'x'.repeat(30)}${token}`]],
    [['token', 'create', '--name', 'ci', '--expires', `${'x'.repeat(30)}${token}`]],
    [['token', 'create', '--name', `-${token}`]],
    [[token]],
    [['token', token]],
    [['token', 'list', token]],
    [['token', 'list', `--${token}`]],
    [['token', 'revoke', token]],
    [['token', 'revoke', `Bearer ${token}`]],
    [['token', 'revoke', token.slice(0, -3)]],
    [['token', 'create', '--name', token]],
    [['token', 'create', '--name', 'ci', '--scope', token]],
    [['token', 'create', '--name', 'ci', '--expires', token]],
    [['token', 'rotate', 'ci', '--overlap', token]],
  ])('should not repeat a token in the wrong place (%#)', async (args) => {
    const refused = await outcomeOfCommandLine(args);
    expect([refused.stdout, refused.code]).toEqual(['', 2]);
    expect(refused.stderr).toMatch(/^plant-store: /);
    expect(refused.stderr).not.toContain(token.slice(6, 20));
  });

  it('should say that a token is not what is revoked, and what to do about one that was typed', async () => {
    const refused = await outcomeOfCommandLine(['token', 'revoke', token]);
    expect(refused.stderr).toMatch(/the name or the id .* is wanted.* that token should be revoked/);
  });
});
