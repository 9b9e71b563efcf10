import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import { type DatabaseAddress, withDatabase, withServiceDatabase } from '../database.js';

type Work<T> = (tokens: TokenAdministration) => Promise<T>;

/** Works on the tokens of the service that the environment configures. */
export function withTokens<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  return withServiceDatabase(schema, (address) => withTokensOf(address, work));
}

/** Works on the tokens in a database. @throws MigrationError if it can't be reached, or lacks the tables or a privilege */
export function withTokensOf<T>(address: DatabaseAddress, work: Work<T>): Promise<T> {
  return withDatabase(address, async ({ client, schema, assertTables }) => {
    await assertTables();
    return work(new TokenAdministration(client, schema));
  });
}
