// Runs a command of the service, and before it the build if that is missing or of other sources.
import { existsSync } from 'node:fs';
import './ensure-build.mjs';

if (existsSync('.env')) {
  const given = Object.keys(process.env);
  process.loadEnvFile();
  // For /info, which says where each variable comes from.
  process.env.PLANT_STORE_ENV_FILE = Object.keys(process.env)
    .filter((name) => !given.includes(name))
    .join();
}
await import('../dist/main.js');
