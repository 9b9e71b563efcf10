import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** A token that this build issues in the database, with its own command. */
export async function issueToken(main: string, databaseUrl: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'token', 'create', '--name', `benchmark-${Date.now()}`],
    { env: { PATH, HOME, DATABASE_URL: databaseUrl } },
  );
  return stdout.trim();
}
