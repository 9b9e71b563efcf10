import { existsSync } from 'node:fs';
import { defineConfig } from 'prisma/config';

// Prisma insists on a schema engine and downloads it, for commands too that never run it, such as `prisma generate`.
// Any existing file satisfies those, so that a build needs no network.
const runsEngine = process.argv.some((argument) => ['migrate', 'db'].includes(argument));
if (!runsEngine) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;

if (existsSync('.env')) process.loadEnvFile();
const url = process.env.DATABASE_URL;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // Only the commands that connect need it.
  ...(url !== undefined && { datasource: { url } }),
});
