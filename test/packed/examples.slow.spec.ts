import { describe, it } from '@jest/globals';
import { createTestDatabase } from '../support/database/test-database.js';
import { INSTALL_LIMIT_MS, PackedHost } from './packed-host.js';

describe('examples/monorepo', () => {
  it(
    'should pass its own tests, with the packed store',
    async () => {
      const database = await createTestDatabase({ migrated: false });
      // Two levels below the package file, as in the checkout.
      await using host = await PackedHost.empty('examples/monorepo');
      await host.installCopy('examples/monorepo');
      await host.run('npm test', { DATABASE_URL: database.url });
      await database.drop();
    },
    INSTALL_LIMIT_MS,
  );
});
