import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

let issued = 0;

/** A token that this build issues in the database, with its own command. Its name, which is stored with each plant, is about as long as that of a static one. */
export async function issueToken(main: string, databaseUrl: string): Promise<string> {
  const { PATH, HOME } = process.env;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [main, 'token', 'create', '--name', `bench-${++issued}`],
    { env: { PATH, HOME, DATABASE_URL: databaseUrl } },
  );
  return stdout.trim();
}
