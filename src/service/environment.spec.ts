import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PACKAGE_FILE } from '../util/package-files.cjs';
import { ConfigurationError, loadEnvironment, readEnvironment, VARIABLES } from './environment.js';

const TOKEN = 'a-token-of-twenty-characters';
const ISSUER = { JWT_ISSUER: 'https://id.example.com', JWT_AUDIENCE: 'plants' };

const faultsOf = (variables: NodeJS.ProcessEnv): readonly string[] => readEnvironment(variables).faults;

describe(readEnvironment.name, () => {
  it('should know the variables of the design, and no other', () => {
    expect(Object.entries(VARIABLES).map(([name, [, initial]]) => `${name}=${initial}`)).toEqual([
      'NODE_ENV=development',
      'PORT=3000',
      'HOST=0.0.0.0',
      'BASE_PATH=',
      'DATABASE_URL=',
      'DATABASE_PASSWORD=',
      'MIGRATION_DATABASE_URL=',
      'MIGRATION_DATABASE_PASSWORD=',
      'DATABASE_POOL_SIZE=10',
      'STORAGE_TIMEOUT=5000',
      'ACCESS_TOKENS=',
      'JWT_ISSUER=',
      'JWT_AUDIENCE=',
      'JWT_JWKS_URL=',
      'JWT_TYP=',
      'BODY_LIMIT=1048576',
      'WRITE_QUEUE_LIMIT=10000',
      'ERROR_STATUS=contract',
      'MANAGEMENT_PORT=9464',
      'MANAGEMENT_HOST=127.0.0.1',
      'SHUTDOWN_TIMEOUT=10000',
      'DRAIN_DELAY=0',
      'MAX_CONNECTIONS=10000',
      'LOG_LEVEL=info',
      'LOG_REQUESTS=failures',
      'DOCS=on',
      'REQUEST_TIMEOUT=10000',
    ]);
  });

  it('should be what .env.example and docs/configuration.md were made from', () => {
    const cwd = dirname(PACKAGE_FILE);
    expect(execFileSync(process.execPath, ['scripts/environment.mjs', '--check'], { cwd, encoding: 'utf8' })).toBe('');
  });

  it.each<[string, string, unknown]>([
    ['NODE_ENV', 'test', 'test'],
    ['PORT', ' 0 ', 0],
    ['HOST', '::1', '::1'],
    ['HOST', 'plant_store.internal', 'plant_store.internal'],
    ['BASE_PATH', '/api/~a.b-c_d', '/api/~a.b-c_d'],
    ['DATABASE_URL', ' postgres://u:p%40@h:1/d?sslmode=require\n', 'postgres://u:p%40@h:1/d?sslmode=require'],
    ['DATABASE_PASSWORD', ' with space ', ' with space '],
    ['MIGRATION_DATABASE_URL', 'postgresql:///plants?host=/run', 'postgresql:///plants?host=/run'],
    ['ACCESS_TOKENS', `${TOKEN},${TOKEN}2==\n, ${TOKEN}3`, [TOKEN, `${TOKEN}2==`, `${TOKEN}3`]],
    ['STORAGE_TIMEOUT', '86400000', 86_400_000],
    ['ERROR_STATUS', 'Semantic', 'semantic'],
    ['LOG_LEVEL', 'INFO', 'log'],
    ['LOG_LEVEL', 'trace', 'verbose'],
    ['DOCS', 'off', false],
    ['DOCS', '1', true],
  ])('should read %s=%j', (name, text, value) => {
    expect(readEnvironment({ [name]: text })).toMatchObject({ environment: { [name]: value }, faults: [] });
  });

  it('should read JWTs, and keep the issuer as it is written', () => {
    const variables = {
      JWT_ISSUER: 'https://ID.example.com/realms/plants/',
      JWT_AUDIENCE: 'plants, https://plants.example,',
      JWT_JWKS_URL: 'http://keys:8080/keys?of=plants',
      JWT_TYP: 'AT+JWT',
    };
    const { environment, faults } = readEnvironment(variables);
    expect(faults).toEqual([]);
    expect(environment).toMatchObject({
      ...variables,
      JWT_AUDIENCE: ['plants', 'https://plants.example'],
      JWT_TYP: 'at+jwt',
    });
  });

  it('should take an empty variable for one that is not set, and leave those of others alone', () => {
    const others = { PATH: '/bin', port: '1', constructor: 'x', PORT_FILE: '/no/such' };
    const empty = { PORT: '', HOST: ' ', ACCESS_TOKENS: '', DATABASE_URL_FILE: '', DOCS: '', JWT_AUDIENCE: ' ' };
    expect(readEnvironment({ ...others, ...empty })).toEqual(readEnvironment({}));
  });

  it.each<[Record<string, string>, string]>([
    [{}, '127.0.0.1'],
    [{ HOST: '0.0.0.0' }, '0.0.0.0'],
    [{ DATABASE_URL: 'postgresql://db/plants' }, '0.0.0.0'],
    [{ NODE_ENV: 'production' }, '0.0.0.0'],
  ])('should with %j listen on %s', (variables, address) => {
    expect(readEnvironment(variables).environment.HOST).toBe(address);
  });

  it.each([
    ['NODE_ENV', ['prod', 'Production']],
    ['PORT', ['65536', '-1', '1e3', '0x10', '3000.0', '1 2', 'abc', '99999999999999999999']],
    ['HOST', ['a b', 'http://localhost', '[::1]', 'localhost:3000', '999.1.1.1', '1.2.3.4.5']],
    ['BASE_PATH', ['api', '/', '/api/', '//api', '/a//b', '/a b', '/%61', '/../a', '/a/.', '/a?b', '/a#b']],
    ['DATABASE_POOL_SIZE', ['0', '1001']],
    ['STORAGE_TIMEOUT', ['0', '86400001', '5s']],
    ['BODY_LIMIT', ['0', '1mb', '1000000000000']],
    ['WRITE_QUEUE_LIMIT', ['0', '1000001']],
    ['ERROR_STATUS', ['400', '__proto__']],
    ['LOG_LEVEL', ['loud', 'constructor']],
    ['DOCS', ['maybe']],
    ['JWT_ISSUER', ['id.example.com', 'ftp://a.b', 'https://', 'https://a.b#a', 'https://a.b?a=b', 'https://a.b/ /']],
    ['JWT_TYP', ['logout+jwt']],
  ])('should refuse a wrong %s, and say what it is and should be', (name, texts) => {
    for (const text of texts) {
      const [fault, ...others] = faultsOf({ ...ISSUER, [name]: text });
      expect(others).toEqual([]);
      expect(fault?.startsWith(`${name}: is ${JSON.stringify(text)}, should be `)).toBe(true);
    }
  });

  it.each<[NodeJS.ProcessEnv, string]>([
    [{ NODE_ENV: 'production' }, 'DATABASE_URL: is missing, in production it should be'],
    [{ DRAIN_DELAY: '10001' }, 'DRAIN_DELAY: is more than SHUTDOWN_TIMEOUT (10000), which includes it'],
    [{ PORT: '9464' }, 'MANAGEMENT_PORT: is 9464, as PORT is: should be another port'],
    [{ ...ISSUER, JWT_AUDIENCE: ' , ' }, 'JWT_AUDIENCE: is missing, should be'],
    [{ JWT_AUDIENCE: 'plants' }, 'JWT_AUDIENCE: is set without JWT_ISSUER: should be left out, or that set'],
    [{ JWT_JWKS_URL: 'https://a.b/keys' }, 'JWT_JWKS_URL: is set without JWT_ISSUER'],
    [{ JWT_TYP: 'at+jwt' }, 'JWT_TYP: is set without JWT_ISSUER'],
    [{ MIGRATION_DATABASE_PASSWORD: 'a' }, 'MIGRATION_DATABASE_PASSWORD: is set without MIGRATION_DATABASE_URL'],
    [{ ACCESS_TOKENS: `${TOKEN} short-one` }, 'ACCESS_TOKENS: token 2 of 2 is too short'],
    [{ LOG_LEVEL: `a\u001b\n${'b'.repeat(1000)}` }, `LOG_LEVEL: is "a\\u001b\\n${'b'.repeat(56)}…", should be`],
  ])('should with %j say %s', (variables, start) => {
    expect(faultsOf(variables).map((fault) => fault.slice(0, start.length))).toEqual([start]);
  });

  it('should list every fault at once, in the order of the table', () => {
    const variables = { BODY_LIMIT: '1mb', PORT: 'x', NODE_ENV: 'production', JWT_ISSUER: 'id' };
    expect(faultsOf(variables).map((fault) => fault.split(':')[0])).toEqual([
      'PORT',
      'DATABASE_URL',
      'JWT_ISSUER',
      'JWT_AUDIENCE',
      'BODY_LIMIT',
    ]);
    expect(() => loadEnvironment(variables)).toThrow(ConfigurationError);
    expect(() => loadEnvironment(variables)).toThrow(/^The configuration cannot be used:\nPORT: is "x", should be/);
  });

  it.each<[NodeJS.ProcessEnv]>([
    [{ ACCESS_TOKENS: 'hunter2' }],
    [{ ACCESS_TOKENS: 'hunter2"hunter2"hunter2' }],
    [{ ACCESS_TOKENS_FILE: '/hunter2' }],
    [{ DATABASE_URL: 'hunter2' }],
    [{ DATABASE_URL: 'mysql://user:hunter2@host/plants' }],
    [{ DATABASE_URL: 'postgres://user:hunter2@host:port/plants' }],
    [{ DATABASE_URL: 'postgres://user:%hunter2@host/plants' }],
    [{ DATABASE_URL: 'postgres://user:pa/hunter2@host/plants' }],
    [{ DATABASE_URL: 'postgresql://user:hunter2@host/plants', DATABASE_PASSWORD: 'hunter22' }],
    [{ ...ISSUER, JWT_ISSUER: 'https://user:hunter2@id.example.com' }],
    [{ ...ISSUER, JWT_JWKS_URL: '//hunter2@id.example.com?a' }],
  ])('should refuse %j, and not show the secret', (variables) => {
    const faults = faultsOf(variables);
    expect(faults).toEqual([expect.stringMatching(/^[A-Z_]+: /)]);
    expect(faults.join()).not.toContain('hunter2');
  });
});

describe('A secret in a file', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'environment-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  function file(text: string): string {
    const path = join(folder, 'secret');
    writeFileSync(path, text);
    return path;
  }

  it.each(['', '\n', '\r\n'])('should be read without the line end %j', (end) => {
    const variables = { DATABASE_PASSWORD: '', DATABASE_PASSWORD_FILE: file(` pass word ${end}`) };
    expect(readEnvironment(variables).environment.DATABASE_PASSWORD).toBe(' pass word ');
  });

  it('should be named by the variable of the file, if it is wrong or cannot be read', () => {
    const missing = join(folder, 'none');
    expect(faultsOf({ DATABASE_URL_FILE: file('mysql://db') })).toEqual([
      expect.stringMatching(/^DATABASE_URL_FILE: must/),
    ]);
    // Nor is what could not be read called missing.
    expect(faultsOf({ NODE_ENV: 'production', DATABASE_URL_FILE: missing })).toEqual([
      'DATABASE_URL_FILE: cannot read that file (ENOENT), should be the path of a readable one',
    ]);
    expect(faultsOf({ ACCESS_TOKENS_FILE: file('\n') })).toEqual([
      'ACCESS_TOKENS_FILE: is the path of an empty file, should be that of a file with the secret',
    ]);
    expect(faultsOf({ ACCESS_TOKENS: TOKEN, ACCESS_TOKENS_FILE: missing })).toEqual([
      'ACCESS_TOKENS_FILE: is set, and so is ACCESS_TOKENS: should be one of the two',
    ]);
  });
});
