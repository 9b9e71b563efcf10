import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfiguration, readEnvironment } from './configuration.js';
import { defaultText, SECRETS } from './environment.js';
import { VARIABLES } from './variable.js';
import { PACKAGE_FILE } from './package-files.js';

const TOKEN = 'a-token-of-twenty-characters';
const ISSUER = { JWT_ISSUER: 'https://id.example.com', JWT_AUDIENCE: 'plants' };
const faultsOf = (variables: NodeJS.ProcessEnv): readonly string[] => readEnvironment(variables).faults;

describe(readEnvironment.name, () => {
  // Both show every name and default, so that no change of them goes unseen. UPDATE=1 writes the files.
  it.each<[string, (text: string) => string]>([
    ['.env.example', exampleOf],
    ['docs/configuration.md', withTable],
  ])('should be what %s says', (name, made) => {
    const file = join(PACKAGE_FILE, '..', name);
    const text = readFileSync(file, 'utf8');
    if (process.env.UPDATE === '1') writeFileSync(file, made(text));
    expect(readFileSync(file, 'utf8')).toBe(made(text));
  });

  it.each<[NodeJS.ProcessEnv, object]>([
    [{ PORT: ' 0 ' }, { PORT: 0 }],
    [{ BASE_PATH: '/api/~a.b-c_d' }, { BASE_PATH: '/api/~a.b-c_d' }],
    [{ DATABASE_URL: ' postgres://u:p%40@h:1/d\n' }, { DATABASE_URL: 'postgres://u:p%40@h:1/d' }],
    [{ DATABASE_URL: 'postgresql://' }, { DATABASE_URL: 'postgresql://' }],
    [{ DATABASE_PASSWORD: ' pass word ' }, { DATABASE_PASSWORD: ' pass word ' }],
    [{ ACCESS_TOKENS: `${TOKEN},\n ${TOKEN}2 ` }, { ACCESS_TOKENS: [TOKEN, `${TOKEN}2`] }],
    [{ ...ISSUER, JWT_ISSUER: 'https://ID.example.com/plants/' }, { JWT_ISSUER: 'https://ID.example.com/plants/' }],
    [{ ...ISSUER, JWT_AUDIENCE: 'plants, https://a.example,' }, { JWT_AUDIENCE: ['plants', 'https://a.example'] }],
    [{ ...ISSUER, JWT_JWKS_URL: 'http://keys:80/keys?of=a' }, { JWT_JWKS_URL: 'http://keys:80/keys?of=a' }],
    [{ ERROR_STATUS: 'Semantic' }, { ERROR_STATUS: 'semantic' }],
    [{ DOCS: 'off' }, { DOCS: false }],
    // Compose passes a variable that is not set as an empty one.
    [{ MAX_CONNECTIONS: ' ' }, { MAX_CONNECTIONS: 10_000 }],
    [{}, { HOST: '127.0.0.1' }],
    [{ DATABASE_URL: 'postgresql://db/plants' }, { HOST: '0.0.0.0' }],
  ])('should read %j as %j', (variables, environment) => {
    expect(readEnvironment(variables)).toMatchObject({ environment, faults: [] });
  });

  it.each([
    ['NODE_ENV', ['prod', 'Production']],
    ['PORT', ['65536', '-1', '1e3', '0x10', '3000.0', '99999999999999999999']],
    ['HOST', ['a b', 'http://localhost', '[::1]', 'localhost:3000', '1.2.3.4.5']],
    ['BASE_PATH', ['api', '/', '/api/', '//api', '/a b', '/%61', '/../a', '/a/.', '/a?b', '/a#b']],
    ['STORAGE_TIMEOUT', ['0', '86400001', '5s']],
    ['BODY_LIMIT', ['0', '1mb', '1048577']],
    ['DOCS', ['constructor', 'ON!']],
    ['JWT_ISSUER', ['id.example.com', 'ftp://a.b', 'https://', 'https://a.b#a', 'https://a.b?a=b']],
  ])('should refuse a wrong %s, and say what it is and should be', (name, texts) => {
    const start = (text: string): string => `${name}: is ${JSON.stringify(text)}, should be `;
    for (const text of texts) {
      const faults = faultsOf({ ...ISSUER, [name]: text });
      expect(faults.map((fault) => fault.slice(0, start(text).length))).toEqual([start(text)]);
    }
  });

  it.each<[NodeJS.ProcessEnv, string]>([
    [{ DRAIN_DELAY: '10001' }, 'DRAIN_DELAY: should be at most SHUTDOWN_TIMEOUT (10000)'],
    [{ PORT: '9464' }, 'MANAGEMENT_PORT: is that of PORT too'],
    [{ JWT_ISSUER: 'https://a.b' }, 'JWT_AUDIENCE: is missing, should be set, or JWT_ISSUER be left out'],
    [{ LOG_LEVEL: `a\u001b\n${'b'.repeat(99)}` }, `LOG_LEVEL: is "a\\u001b\\n${'b'.repeat(56)}…", should be`],
    // What could not be read is not called missing.
    [
      { NODE_ENV: 'production', DATABASE_URL_FILE: '/dev/null' },
      'DATABASE_URL: the file of DATABASE_URL_FILE is empty',
    ],
    [{ ACCESS_TOKENS_FILE: '/hunter2' }, 'ACCESS_TOKENS: the file of ACCESS_TOKENS_FILE cannot be read (ENOENT)'],
    [{ ACCESS_TOKENS: `${TOKEN} hunter2` }, 'ACCESS_TOKENS: token 2 of 2 is too short'],
    [{ ...ISSUER, JWT_ISSUER: 'https://a:hunter2@b.example' }, 'JWT_ISSUER: holds a user or password, should be'],
  ])('should with %j say %s, and show no secret', (variables, start) => {
    const faults = faultsOf(variables);
    expect(faults.map((fault) => fault.slice(0, start.length))).toEqual([start]);
    expect(faults.join()).not.toContain('hunter2');
  });

  describe('from files', () => {
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'environment-'));
      jest.spyOn(process, 'cwd').mockReturnValue(folder);
    });
    afterEach(() => {
      jest.restoreAllMocks();
      rmSync(folder, { recursive: true });
    });

    it('should read .env too, with a byte order mark, and let what is set go first', async () => {
      const text = '\ufeffDATABASE_URL=postgresql://db/plants\nPORT=1\nBODY_LIMIT="2"\nPGHOST=db\n';
      writeFileSync(join(folder, '.env'), text);
      jest.replaceProperty(process, 'env', { PORT: '5' });
      const { environment, faults } = await readConfiguration();
      expect(environment).toMatchObject({ DATABASE_URL: 'postgresql://db/plants', PORT: 5, BODY_LIMIT: 2 });
      // pg reads PGHOST from there.
      const set = Object.keys(process.env).sort();
      expect([faults, set]).toEqual([[], ['BODY_LIMIT', 'DATABASE_URL', 'PGHOST', 'PORT']]);
    });

    it('should read a secret from a file, without a byte order mark and the end of its line', () => {
      const path = join(folder, 'secret');
      writeFileSync(path, '\ufeff pass word \r\n');
      const { environment } = readEnvironment({ DATABASE_PASSWORD: 'other', DATABASE_PASSWORD_FILE: path });
      expect(environment.DATABASE_PASSWORD).toBe(' pass word ');
    });
  });
});

const ROWS = Array.from(VARIABLES, ([name, about]) => ({ name, initial: defaultText(name), about }));

function exampleOf(): string {
  const files = SECRETS.map((name) => `${name}_FILE`).join(', ');
  return [
    '# The variables of the plant store, each with its default. An empty one counts as not set.\n' +
      `# A secret is read from a file, if its path is set instead: ${files}.\n`,
    ...ROWS.map(({ name, initial, about }) => `# ${about}.\n#${name}=${initial}\n`),
  ].join('\n');
}

/** The page with the table of the variables, padded as Prettier does. */
function withTable(page: string): string {
  const cells = ROWS.map(({ name, initial, about }) => [`\`${name}\``, initial && `\`${initial}\``, about]);
  const rows = [['Variable', 'Default', ''], ...cells];
  const widths = [0, 1, 2].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const [head = '', ...lines] = rows.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return page.replace(/^\| Variable [^]*?\n(?=\n)/m, () => [head, rule, ...lines, ''].join('\n'));
}
