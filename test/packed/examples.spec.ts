import { describe, it } from '@jest/globals';
import { describeGuestContract } from '../contract/describe-guest-contract.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { describeWithHost } from './describe-with-host.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { type Example, inExample } from './workspace.js';

/** They build once more, as they would for anybody. */
async function runOwnTests(example: Example): Promise<void> {
  const database = await createTestDatabase({ migrated: false });
  try {
    await runCommand(inExample(example), 'npm test', { DATABASE_URL: database.url });
  } finally {
    await database.drop();
  }
}

describe('examples/monorepo', () => {
  const garden = {
    program: inExample('monorepo', 'dist/apps/garden/apps/garden/src/main.js'),
    basePath: '/api/v1',
    variables: { JWT_SECRET: 'of no account here' },
    migrate: (DATABASE_URL: string) => runCommand(inExample('monorepo'), 'npm run migrate', { DATABASE_URL }),
  };

  it('should pass its own tests', () => runOwnTests('monorepo'), COMMAND_LIMIT_MS);

  describe('the packed store in the garden', () => {
    describeWithHost(garden, (target) => {
      describeGuestContract(target, 'exempt', 'express');
    });
  });
});

describe('examples/commonjs-host', () => {
  const host = {
    program: inExample('commonjs-host', 'dist/main.js'),
    basePath: '',
    // It does that by itself, at the start.
    migrate: () => Promise.resolve(),
  };

  it('should pass its own tests', () => runOwnTests('commonjs-host'), COMMAND_LIMIT_MS);

  describe('the packed store in it', () => {
    describeWithHost(host, (target) => {
      describeGuestContract(target, 'exempt', 'express');
    });
  });
});
