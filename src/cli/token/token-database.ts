import { TokenAdministration } from '../../auth/tokens/token-admin.js';
import { type DatabaseAddress, type OpenDatabase, withDatabase, withServiceDatabase } from '../database.js';

type Work<T> = (tokens: TokenAdministration) => Promise<T>;

const onTokens =
  <T>(work: Work<T>) =>
  async ({ client, database, assertTables }: OpenDatabase): Promise<T> => {
    await assertTables();
    return work(new TokenAdministration(client, database.schema));
  };

/** Works on the tokens of the service that the environment configures. */
export function withTokens<T>(schema: string | undefined, work: Work<T>): Promise<T> {
  return withServiceDatabase(schema, onTokens(work));
}

/** Works on the tokens in a database. @throws MigrationError if it can't be reached, or lacks the tables or a privilege */
export function withTokensOf<T>(address: DatabaseAddress, work: Work<T>): Promise<T> {
  return withDatabase(address, onTokens(work));
}
