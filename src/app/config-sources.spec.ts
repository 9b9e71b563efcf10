import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeToken } from '../auth/tokens/token.js';
import { describeVariables, findNearMisses } from './config-values.js';
import { Environment, loadEnvironment, readEnvironment, type Setting } from './config.js';

const settingOf = (name: string, variables: NodeJS.ProcessEnv): Setting | undefined =>
  readEnvironment(variables).settings.find((setting) => setting.name === name);

describe('The sources of the configuration', () => {
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-sources-'));
    file = join(folder, 'secret');
    await writeFile(file, 'postgresql://rose:hunter2@db/plants\n');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('should have every variable, its default if it is not set', () => {
    const variables = describeVariables(Environment);
    const defaults = variables.map(({ name, default: value }) => ({ name, value, source: 'default' }));
    const { settings } = loadEnvironment({});
    expect(settings).toEqual(
      defaults.map((setting) => (setting.name === 'HOST' ? { ...setting, value: '127.0.0.1' } : setting)),
    );
  });

  it.each([
    [{}, '127.0.0.1'],
    [{ HOST: ' ' }, '127.0.0.1'],
    [{ HOST: '0.0.0.0' }, '0.0.0.0'],
    [{ DATABASE_URL: 'postgresql://db/plants' }, '0.0.0.0'],
    [{ NODE_ENV: 'production' }, '0.0.0.0'],
  ])('should with %j listen on %s', (variables, address) => {
    const environment = readEnvironment(variables);
    expect(environment.host).toBe(address);
    expect(settingOf('HOST', variables)?.value).toBe(address);
  });

  it('should say whether one is of the environment, of .env, or of a file', () => {
    const variables = {
      PORT: ' 8080 ',
      HOST: '',
      LOG_LEVEL: 'warn',
      DATABASE_URL_FILE: file,
      PLANT_STORE_ENV_FILE: 'LOG_LEVEL,LOG_FORMAT',
    };
    expect(settingOf('PORT', variables)).toEqual({ name: 'PORT', value: '8080', source: 'environment' });
    expect(settingOf('HOST', variables)).toMatchObject({ value: '0.0.0.0', source: 'default' });
    expect(settingOf('LOG_LEVEL', variables)).toMatchObject({ value: 'warn', source: '.env' });
    expect(settingOf('LOG_FORMAT', variables)).toMatchObject({ source: 'default' });
    expect(settingOf('DATABASE_URL', variables)).toMatchObject({
      value: 'plants at db:5432 as rose',
      source: `DATABASE_URL_FILE (${file})`,
    });
  });

  it.each([
    ['ACCESS_TOKENS', 'hunter2hunter2hunter2', '(set)'],
    ['ACCESS_TOKENS', 'postgresql://hunter2:hunter2@hunter2/hunter2', '(set)'],
    ['DATABASE_PASSWORD', 'hunter2', '(set)'],
    [
      'DATABASE_URL',
      'postgresql://rose:hunter2@db:6543/garden?schema=x&sslpassword=hunter2',
      'garden at db:6543 as rose',
    ],
    ['DATABASE_URL', 'postgresql://rose@db/garden?password=hunter2', 'garden at db:5432 as rose'],
    ['DATABASE_URL', 'postgres://rose:pa/hunter2@db/plants', '(set)'],
    ['DATABASE_URL', 'hunter2', '(set)'],
    ['MIGRATION_DATABASE_URL', 'mysql://rose:hunter2@db/plants', '(set)'],
    ['MIGRATION_DATABASE_URL', 'postgresql://owner:hunter2@db/plants', 'plants at db:5432 as owner'],
    ['JWT_JWKS_URL', 'https://issuer.example/keys?key=hunter2', 'https://issuer.example/keys?…'],
    ['JWT_JWKS_URL', 'https://rose:hunter2@issuer.example/keys', 'https://…@issuer.example/keys'],
    ['JWT_AUDIENCE', makeToken(), '[access token]'],
  ])('should show nothing of the secret in %s=%s', (name, text, shown) => {
    const setting = settingOf(name, { [name]: text });
    expect(setting).toMatchObject({ value: shown, source: 'environment' });
    expect(JSON.stringify(setting)).not.toContain('hunter2');
  });

  it('should name what is wrong with a variable, and keep the others', () => {
    const variables = {
      PORT: 'many',
      HOST: '::1',
      ACCESS_TOKENS: 'hunter2',
      DATABASE_URL_FILE: '/no/such',
    };
    const { settings, host } = readEnvironment(variables);
    expect(host).toBe('::1');
    expect(settings.filter(({ fault }) => fault !== undefined)).toEqual([
      { name: 'PORT', value: 'many', source: 'environment', fault: expect.stringMatching(/^PORT: is "many"/) },
      {
        name: 'DATABASE_URL',
        value: '(set)',
        source: 'DATABASE_URL_FILE',
        fault: expect.stringMatching(/^DATABASE_URL_FILE: cannot/),
      },
      {
        name: 'ACCESS_TOKENS',
        value: '(set)',
        source: 'environment',
        fault: expect.stringMatching(/^ACCESS_TOKENS: /),
      },
    ]);
  });
});

describe(findNearMisses.name, () => {
  const nearMisses = (variables: NodeJS.ProcessEnv) => findNearMisses(describeVariables(Environment), variables);

  it.each([
    ['ACCES_TOKENS', 'ACCESS_TOKENS'],
    ['ACCESS_TOKEN', 'ACCESS_TOKENS'],
    ['ACCESTOKENS_FILE', undefined],
    ['ACCESSTOKENS', 'ACCESS_TOKENS'],
    ['access_tokens', 'ACCESS_TOKENS'],
    ['ACCES_TOKENS_FILE', 'ACCESS_TOKENS_FILE'],
    ['ACCESS_TOKENS_FIEL', 'ACCESS_TOKENS_FILE'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['DATABASE_PASWORD', 'DATABASE_PASSWORD'],
    ['LOG_LEVLE', 'LOG_LEVEL'],
    ['CORS_ORIGIN', 'CORS_ORIGINS'],
    ['MANAGMENT_PORT', 'MANAGEMENT_PORT'],
    ['TRUSTED_PROXY', 'TRUST_PROXY'],
    ['STORAGE_TIMOUT', 'STORAGE_TIMEOUT'],
  ])('should take %s for %s', (name, meant) => {
    const line = `${name}: is no variable of the service and has no effect, should be ${meant} if that is meant`;
    expect(nearMisses({ [name]: 'x' })).toEqual(meant === undefined ? [] : [line]);
  });

  it('should name what is read from no file', () => {
    expect(nearMisses({ JWT_ISSUER_FILE: '/run/issuer' })).toEqual([
      'JWT_ISSUER_FILE: has no effect, as only secrets are read from files; should be JWT_ISSUER',
    ]);
  });

  const OTHERS = [
    'PATH HOME PWD OLDPWD SHELL USER LOGNAME TERM LANG TZ TMPDIR EDITOR SHLVL MAIL DISPLAY HOSTNAME HOSTTYPE PORTS POST SORT DOC',
    'DATABASE_HOST DATABASE_PORT DATABASE_NAME DATABASE_USER DATABASE_PASS DB_URL DB_HOST DB_PASSWORD POSTGRES_URL POSTGRES_PASSWORD',
    'TEST_DATABASE_URL SHADOW_DATABASE_URL PGHOST PGPORT PGUSER PGPASSWORD PGSSLMODE PGDATABASE',
    'LOG_FILE LOG_DIR LOG_PATH LOG_COLOR LOG_OUTPUT NODE_PATH NODE_OPTIONS NODE_VERSION NODE_IMAGE NODE_EXTRA_CA_CERTS NO_COLOR',
    'npm_config_loglevel npm_config_cache npm_lifecycle_event npm_package_name INIT_CWD BASE_URL BASH_ENV MANPATH DOCKER_HOST',
    'KUBERNETES_SERVICE_HOST KUBERNETES_PORT',
    'DB_SERVICE_HOST DB_PORT_5432_TCP REDIS_URL API_HOST API_PORT JWT_SECRET JWT_KEY JWT_TTL CI GITHUB_TOKEN MAX_MEMORY',
    'HTTP_PROXY http_proxy no_proxy port host PLANT_STORE_ENV_FILE CONNECTION_LIMIT MAX_OLD_SPACE SSH_CONNECTION REQUEST_ID',
  ].flatMap((line) => line.split(' '));

  it('should leave variables of others alone', () => {
    expect(nearMisses(Object.fromEntries(OTHERS.map((name) => [name, 'x'])))).toEqual([]);
  });

  it('should leave alone what is right, what is empty, and on Windows the same variable in other letters', () => {
    const names = describeVariables(Environment).flatMap(({ name, secret }) =>
      secret ? [name, `${name}_FILE`] : name,
    );
    expect(nearMisses(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
    expect(nearMisses({ ACCES_TOKENS: '', Access_Tokens: 'x', ACCESS_TOKENS: 'x' })).toEqual([]);
  });

  it('should be named with the faults of a start that fails', () => {
    expect(() => loadEnvironment({ NODE_ENV: 'production', DATABSE_URL: 'hunter2' })).toThrow(
      /^DATABASE_URL: is missing.*\nDATABSE_URL: is no variable of the service.*should be DATABASE_URL if that is meant$/m,
    );
    expect(() => loadEnvironment({ DATABSE_URL: 'x' })).not.toThrow();
  });
});
