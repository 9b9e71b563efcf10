// Runs a command of the service with the variables of .env, as far as they are not set already.
import { existsSync } from 'node:fs';

if (existsSync('.env')) process.loadEnvFile();
await import('../dist/main.js');
