// Runs a command of the service, and before it the build if that is missing or of other sources.
import { existsSync } from 'node:fs';
import './ensure-build.mjs';

if (existsSync('.env')) process.loadEnvFile();
await import('../dist/main.js');
