// Runs a command of the service, built from the sources as they are, with the variables of .env as far as they are not set already.
import { existsSync } from 'node:fs';
import { ensureBuild } from './ensure-build.mjs';

ensureBuild('quick');
if (existsSync('.env')) process.loadEnvFile();
await import('../dist/main.js');
