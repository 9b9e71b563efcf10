import { describe, expect, it } from '@jest/globals';
import { refusal } from '../../test/support/service/configuration-refusal.js';
import { Environment, loadEnvironment } from './config.js';

const TOKEN = 'a-token-of-twenty-characters';

const escaped = (text: string) => text.replace(/[^\w\s]/g, '\\$&');

describe(Environment.name, () => {
  it.each<[string, string, string, unknown]>([
    ['NODE_ENV', 'test', 'nodeEnv', 'test'],
    ['PORT', '0', 'port', 0],
    ['PORT', ' 8080 ', 'port', 8080],
    ['PORT', '65535', 'port', 65535],
    ['HOST', '::1', 'host', '::1'],
    ['HOST', 'localhost', 'host', 'localhost'],
    ['HOST', 'plant_store.internal', 'host', 'plant_store.internal'],
    ['BASE_PATH', '/api/v1', 'basePath', '/api/v1'],
    ['BASE_PATH', '/~a.b-c_d', 'basePath', '/~a.b-c_d'],
    [
      'DATABASE_URL',
      ' postgres://u:p%40@h:1/d?sslmode=require\n',
      'databaseUrl',
      'postgres://u:p%40@h:1/d?sslmode=require',
    ],
    [
      'DATABASE_URL',
      'postgresql:///plants?host=/run/postgresql',
      'databaseUrl',
      'postgresql:///plants?host=/run/postgresql',
    ],
    ['DATABASE_PASSWORD', ' with space ', 'databasePassword', ' with space '],
    ['MIGRATION_DATABASE_URL', ' postgres://owner@h/d\n', 'migrationDatabaseUrl', 'postgres://owner@h/d'],
    ['DATABASE_POOL_SIZE', '1000', 'databasePoolSize', 1000],
    ['STORAGE_TIMEOUT', '86400000', 'storageTimeout', 86_400_000],
    ['ACCESS_TOKENS', `${TOKEN},${TOKEN}2==\n, ${TOKEN}3`, 'accessTokens', [TOKEN, `${TOKEN}2==`, `${TOKEN}3`]],
    ['BODY_LIMIT', '1', 'bodyLimit', 1],
    ['WRITE_QUEUE_LIMIT', '1', 'writeQueueLimit', 1],
    ['ERROR_STATUS', 'Semantic', 'errorStatus', 'semantic'],
    ['MANAGEMENT_PORT', '0', 'managementPort', 0],
    ['MANAGEMENT_HOST', '0.0.0.0', 'managementHost', '0.0.0.0'],
    ['LOG_LEVEL', 'INFO', 'logLevel', 'log'],
    ['LOG_LEVEL', 'trace', 'logLevel', 'verbose'],
    ['LOG_LEVEL', 'fatal', 'logLevel', 'fatal'],
    ['DOCS', 'off', 'docs', false],
    ['DOCS', '1', 'docs', true],
    ['REQUEST_TIMEOUT', '1', 'requestTimeout', 1],
  ])('should read %s=%j', (name, text, property, value) => {
    expect(loadEnvironment({ [name]: text })).toHaveProperty(property, value);
  });

  it.each([
    ['NODE_ENV', ['prod', 'Production', 'PROD']],
    ['PORT', ['65536', '-1', '1e3', '0x10', '3000.0', '1 2', 'abc', '99999999999999999999']],
    ['HOST', ['a b', 'http://localhost', '[::1]', 'localhost:3000', '999.1.1.1', '1.2.3.4.5']],
    ['BASE_PATH', ['api', '/', '/api/', '//api', '/a//b', '/a b', '/%61', '/../a', '/a/.', '/a?b', '/a#b']],
    ['DATABASE_POOL_SIZE', ['0', '1001']],
    ['STORAGE_TIMEOUT', ['0', '86400001', '5s']],
    ['BODY_LIMIT', ['0', '-1', '1mb', '1000000000000']],
    ['WRITE_QUEUE_LIMIT', ['0', '-1', '1k', '1000001']],
    ['ERROR_STATUS', ['400', '__proto__']],
    ['MANAGEMENT_PORT', ['65536']],
    ['MANAGEMENT_HOST', ['*']],
    ['LOG_LEVEL', ['loud']],
    ['DOCS', ['maybe']],
    ['REQUEST_TIMEOUT', ['0', '2147483648']],
  ])('should refuse a wrong %s', (name, texts) => {
    for (const text of texts) {
      expect(() => loadEnvironment({ [name]: text })).toThrow(
        refusal(expect.stringMatching(new RegExp(`^${name}: (is|holds) "${escaped(text)}", should be .+`))),
      );
    }
  });

  it.each([
    [{ PORT: '9464' }, true],
    [{ MANAGEMENT_PORT: '3000', HOST: '::' }, true],
    [{ MANAGEMENT_PORT: '3000', HOST: '10.0.0.1', MANAGEMENT_HOST: '0.0.0.0' }, true],
    [{ MANAGEMENT_PORT: '3000', HOST: '127.0.0.1' }, true],
    [{ MANAGEMENT_PORT: '3000', HOST: '10.0.0.1' }, false],
    [{ MANAGEMENT_PORT: '0', PORT: '0' }, false],
  ])('should tell whether %j puts two listeners on one port', (variables, refused) => {
    const load = expect(() => loadEnvironment(variables));

    if (refused) load.toThrow(refusal(expect.stringMatching(/^MANAGEMENT_PORT: .+another port$/)));
    else load.not.toThrow();
  });
});
