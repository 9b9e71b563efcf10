import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PACKAGE_FILE } from '../util/package-files.cjs';
import { describeVariables } from './config-values.js';
import { Environment, loadEnvironment } from './config.js';

interface Example {
  about: string;
  name: string;
  value: string;
}

const text = readFileSync(join(dirname(PACKAGE_FILE), '.env.example'), 'utf8');

function readExample(): Example[] {
  return [...text.matchAll(/^# (?<about>.+)\n#(?<name>[A-Z_]+)=(?<value>.*)$/gm)].map(
    ({ groups }) => ({ ...groups }) as unknown as Example,
  );
}

describe(describeVariables.name, () => {
  const variables = describeVariables(Environment);

  it('should describe a variable for every property of the environment', () => {
    const properties = Object.keys(new Environment());

    expect(variables.map(({ property }) => property)).toEqual(properties);
    expect(new Set(variables.map(({ name }) => name)).size).toBe(properties.length);
  });

  it('should tell the defaults of the environment', () => {
    expect(variables.map((variable) => [variable.name, variable.default])).toEqual([
      ['NODE_ENV', 'development'],
      ['PORT', '3000'],
      ['HOST', '0.0.0.0'],
      ['BASE_PATH', ''],
      ['DATABASE_URL', ''],
      ['DATABASE_PASSWORD', ''],
      ['MIGRATION_DATABASE_URL', ''],
      ['MIGRATION_DATABASE_PASSWORD', ''],
      ['DATABASE_POOL_SIZE', '10'],
      ['STORAGE_TIMEOUT', '5000'],
      ['ACCESS_TOKENS', ''],
      ['JWT_ISSUER', ''],
      ['JWT_AUDIENCE', ''],
      ['JWT_JWKS_URL', ''],
      ['JWT_TYP', ''],
      ['BODY_LIMIT', '1048576'],
      ['WRITE_QUEUE_LIMIT', '10000'],
      ['ERROR_STATUS', 'contract'],
      ['MANAGEMENT_PORT', '9464'],
      ['MANAGEMENT_HOST', '127.0.0.1'],
      ['SHUTDOWN_TIMEOUT', '10000'],
      ['DRAIN_DELAY', '0'],
      ['MAX_CONNECTIONS', '10000'],
      ['LOG_LEVEL', 'info'],
      ['LOG_REQUESTS', 'failures'],
      ['DOCS', 'on'],
      ['REQUEST_TIMEOUT', '10000'],
    ]);
  });

  // With the embedded database it is another one.
  it.each(variables.filter(({ name }) => name !== 'HOST'))(
    'should describe the default of $name as its initialiser has it',
    ({ name, default: value }) => {
      expect(loadEnvironment({ [name]: value })).toEqual(loadEnvironment({}));
    },
  );

  it('should agree with .env.example', () => {
    expect(text.match(/^#? *[A-Z_]+ *=/gm)).toEqual(variables.map(({ name }) => `#${name}=`));
    expect(readExample()).toEqual(variables.map(({ name, about, default: value }) => ({ about, name, value })));
  });
});
