import { describe, it } from '@jest/globals';
import { createTestDatabase } from '../support/database/test-database.js';
import { COMMAND_LIMIT_MS, runCommand } from './run-command.js';
import { inWorkspace } from './workspace.js';

describe('examples/monorepo', () => {
  it(
    'should pass its own tests, with the packed store',
    async () => {
      const database = await createTestDatabase({ migrated: false });
      try {
        await runCommand(inWorkspace('examples/monorepo'), 'npm test', { DATABASE_URL: database.url });
      } finally {
        await database.drop();
      }
    },
    COMMAND_LIMIT_MS,
  );
});
