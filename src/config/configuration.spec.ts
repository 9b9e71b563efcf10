import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfiguration, readEnvironment } from './configuration.js';
import { defaultText, Environment, SECRETS } from './environment.js';
import { PACKAGE_FILE } from './package-files.js';

const TOKEN = 'a-token-of-twenty-characters';
const ISSUER = { JWT_ISSUER: 'https://id.example.com', JWT_AUDIENCE: 'plants' };
const faultsOf = (variables: NodeJS.ProcessEnv): readonly string[] => readEnvironment(variables).faults;

describe(readEnvironment.name, () => {
  it.each([
    ['.env.example', /^#(\w+)=(.*)$/gm],
    ['docs/configuration.md', /^\| `(\w+)` +\| (?:`(.*)`)? +\| \w.*\|$/gm],
  ])('should have the variables and the defaults of %s', (file, line) => {
    const found = [...readFileSync(join(PACKAGE_FILE, '..', file), 'utf8').matchAll(line)];
    const expected = Object.keys(new Environment()).map((name) => [name, defaultText(name)]);
    expect(found.map(([, name, text = '']) => [name, text])).toEqual(expected);
  });

  it.each<[NodeJS.ProcessEnv, object]>([
    [{ PORT: ' 0 ' }, { PORT: 0 }],
    [{ HOST: 'fe80::1%eth0' }, { HOST: 'fe80::1%eth0' }],
    [{ DATABASE_URL: ' postgres://u:p%40@h:1/d\n' }, { DATABASE_URL: 'postgres://u:p%40@h:1/d' }],
    [{ DATABASE_PASSWORD: ' pass word ' }, { DATABASE_PASSWORD: ' pass word ' }],
    [{ ACCESS_TOKENS: `${TOKEN},\n ${TOKEN}2 ` }, { ACCESS_TOKENS: [TOKEN, `${TOKEN}2`] }],
    [{ ...ISSUER, JWT_AUDIENCE: 'plants, https://a.example,' }, { JWT_AUDIENCE: ['plants', 'https://a.example'] }],
    [{ DOCS: 'Off', NODE_ENV: 'test' }, { DOCS: 'off' }],
    // Compose passes a variable that is not set as an empty one.
    [{ MAX_CONNECTIONS: ' ', DATABASE_URL_FILE: '' }, { MAX_CONNECTIONS: 10_000 }],
    [{}, { HOST: '127.0.0.1', DOCS: 'on' }],
    [{ DATABASE_URL: 'postgresql://db/plants' }, { HOST: '0.0.0.0' }],
  ])('should read %j as %j', (variables, environment) => {
    expect(readEnvironment(variables)).toMatchObject({ environment, faults: [], warnings: [] });
  });

  it.each([
    ['NODE_ENV', ['prod', 'Prod-1', "'production'"], 'must be production, if that is meant'],
    ['PORT', ['x', '3000.5', '5s'], 'must be an integer number'],
    ['PORT', ['65536', '99999999999999999999'], 'must not be greater than 65535'],
    ['STORAGE_TIMEOUT', ['0', '-1'], 'must not be less than 1'],
    ['BASE_PATH', ['api', '/', '/api/', '//api', '/a b', '/%61', '/../a', '/a/.', '/a?b'], 'must be a path such as'],
    ['HOST', ['a b', 'http://localhost', '[::1]', 'localhost:3000'], 'must be an IP address or a host name, without'],
    ['DOCS', ['constructor', 'ON!', 'true'], 'must be one of the following values: on, off'],
    ['JWT_ISSUER', ['id.example.com', 'ftp://a.b', 'https://', 'https:a.b', 'https://a.b#a'], 'must be a URL such'],
  ])('should refuse a wrong %s once, and say what it is and must be: %j', (name, texts, words) => {
    for (const text of texts) {
      const [fault = '', ...others] = faultsOf({ ...ISSUER, [name]: text });
      expect([fault.slice(0, `${name} ${words}`.length), others]).toEqual([`${name} ${words}`, []]);
      expect(fault).toContain(` (it is "${text}")`);
    }
  });

  it.each<[NodeJS.ProcessEnv, string]>([
    [{ DRAIN_DELAY: '10001' }, 'DRAIN_DELAY must be at most SHUTDOWN_TIMEOUT (10000)'],
    [{ PORT: '9464' }, 'MANAGEMENT_PORT must be another one than PORT'],
    [{ JWT_ISSUER: 'https://a.b' }, 'JWT_ISSUER and JWT_AUDIENCE must be set together'],
    [{ JWT_ISSUER: 'https://a.b', JWT_AUDIENCE: ',' }, 'JWT_ISSUER and JWT_AUDIENCE must be set together'],
    [{ NODE_ENV: 'Production' }, 'DATABASE_URL is missing: in production'],
    // What could not be read is not called missing.
    [{ NODE_ENV: 'production', DATABASE_URL_FILE: '/dev/null' }, 'DATABASE_URL_FILE must name a file with the secret'],
    [{ ACCESS_TOKENS_FILE: '/hunter2' }, 'ACCESS_TOKENS_FILE must name a file with the secret (ENOENT)'],
    [{ ACCESS_TOKENS: `${TOKEN} hunter2` }, 'each of ACCESS_TOKENS must have 20 to 8192 letters, digits and'],
    [
      { DATABASE_URL: 'postgresql://u:hunter2@db/a?sslmode=of' },
      'DATABASE_URL must have an sslmode or a PGSSLMODE out',
    ],
    [{ ...ISSUER, JWT_ISSUER: 'https://a:hunter2@b.example' }, 'JWT_ISSUER must be a URL such as'],
  ])('should with %j say %s, and show no secret', (variables, start) => {
    const faults = faultsOf(variables);
    expect(faults.map((fault) => fault.slice(0, start.length))).toEqual([start]);
    expect(faults.join()).not.toContain('hunter2');
  });

  it('should warn of a name that is one letter away from that of a variable', () => {
    const right = [...Object.keys(new Environment()), ...SECRETS.map((name) => `${name}_FILE`)];
    const wrong = ['BODY_LIMTI', 'BODY_LIMI', 'BODY_LIMITS', 'BODY-LIMIT', 'ODY_LIMIT', 'DATABASE_URL_FIEL'];
    const others = ['BODY', 'BODY_LIM', 'BODY_LIMITED', 'DATABASE_URL_FELI', 'HOSTNAME', 'PGHOST', ''];
    const all = [...right, ...wrong, ...others].map((name) => [name, ''] as const);
    const { warnings } = readEnvironment(Object.fromEntries(all));
    expect(warnings.map((warning) => warning.split(' ')[0])).toEqual(wrong);
    expect(warnings[0]).toMatch(/is BODY_LIMIT meant\?$/);
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

    it('should read .env too, with a byte order mark, and let what is set, and not empty, go first', async () => {
      const text =
        '\ufeffDATABASE_URL=postgresql://db/plants\nPORT=1\nBODY_LIMIT="2"\nPGHOST=db\nHOST= \nDOCS=off # no\n';
      writeFileSync(join(folder, '.env'), text);
      jest.replaceProperty(process, 'env', { PORT: '5', DATABASE_URL: '', DOCS: ' ' });
      const { environment, faults, warnings } = await readConfiguration();
      const expected = { DATABASE_URL: 'postgresql://db/plants', PORT: 5, BODY_LIMIT: 2, HOST: '0.0.0.0', DOCS: 'off' };
      expect(environment).toMatchObject(expected);
      // pg reads PGHOST from there.
      const set = Object.keys(process.env).sort();
      expect([faults, warnings, set]).toEqual([[], [], ['BODY_LIMIT', 'DATABASE_URL', 'DOCS', 'PGHOST', 'PORT']]);
    });

    it('should read a pipe, and warn of what Node.js has read before', async () => {
      execFileSync('mkfifo', [join(folder, '.env')]);
      jest.replaceProperty(process, 'env', { NODE_OPTIONS: '-r a' });
      const names = ['NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY', 'https_proxy', 'SSL_CERT_FILE', 'UV_THREADPOOL_SIZE'];
      const others = ['NODE_ENV', 'NODE_IMAGE', 'NODE_OPTIONS', 'PORT'];
      const written = writeFile(join(folder, '.env'), [...names, ...others].map((name) => `${name}=1\n`).join(''));
      const { environment, warnings } = await readConfiguration();
      await written;
      expect([environment.PORT, warnings.map((warning) => warning.split(' ')[0])]).toEqual([1, names]);
      expect(warnings[0]).toMatch('has no effect in .env, as Node.js reads it earlier: set it in the environment');
    });

    it('should refuse an .env in another encoding than UTF-8', async () => {
      writeFileSync(join(folder, '.env'), Buffer.from('# Gärten\nPORT=1\n', 'latin1'));
      await expect(readConfiguration()).rejects.toThrow('.env must be a text in UTF-8, and is in another encoding');
    });

    it('should read a secret from a file, without a byte order mark and the end of its line', () => {
      const path = join(folder, 'secret');
      writeFileSync(path, '\ufeff pass word \r\n');
      const { environment } = readEnvironment({ DATABASE_PASSWORD: 'other', DATABASE_PASSWORD_FILE: path });
      expect(environment.DATABASE_PASSWORD).toBe(' pass word ');
    });
  });
});
