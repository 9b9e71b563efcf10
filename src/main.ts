import { Logger } from '@nestjs/common';
import { setFlagsFromString } from 'node:v8';
import { exitCodeOf } from './cli/exit-code.js';
import { assertNoFaults, readConfiguration } from './config/configuration.js';
import { assertInstalled } from './config/package-files.js';
import { LocalDatabase } from './embedded-postgres/local-database.js';
import { closeWithin, logCrash, stopSignal } from './server/process.js';

/** How long the process may still take when all is closed. */
const END_WAIT_MS = 1000;

/** Runs the service until a signal: `nest start`, `node dist/main.js` and `plant-store serve` come here. */
async function bootstrap(): Promise<void> {
  const configuration = await readConfiguration();
  const configured = assertNoFaults(configuration);
  assertInstalled();
  const signal = stopSignal();
  // It needs packages that a host may lack.
  const { createApp, listen } = await import('./app.js');
  // Without DATABASE_URL, an embedded PostgreSQL runs as long as the service.
  const local = configured.DATABASE_URL === undefined ? await LocalDatabase.open(configured) : undefined;
  const environment = local?.environment ?? configured;
  try {
    const app = await createApp(environment);
    for (const warning of configuration.warnings) new Logger('Configuration').warn(warning);
    logCrash();
    // Before it listens nothing was accepted, so the first signal ends the start at once.
    const url = await Promise.race([listen(app, environment), signal.then(() => undefined)]);
    if (url === undefined) return;
    local?.printSummary(url);
    const stop = await Promise.race([signal, ...(local ? [local.postgres.ended()] : [])]);
    await closeWithin(app, environment.SHUTDOWN_TIMEOUT, stop);
  } finally {
    await local?.close();
    // What is left waits for the reader of the log, who may have gone.
    setTimeout(() => process.exit(), END_WAIT_MS).unref();
  }
}

// V8 lets a small heap grow fourfold before it collects it. At 64 connections on Node.js 24: 290 MB instead of 385.
setFlagsFromString('--heap-growing-percent=60');
// Under load, V8 would make objects of a request where long-lived ones are. Each keeps its whole request there until a
// full collection of garbage: 1.15 times the CPU for a create (1.05 to 1.22), at 64 connections on Node.js 24.
setFlagsFromString('--no-allocation-site-pretenuring');
process.exitCode = await exitCodeOf(bootstrap);
