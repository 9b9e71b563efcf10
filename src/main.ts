#!/usr/bin/env node
import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { runCommandLine } from './cli/command-line.js';

// V8 allocates for good, in the old generation, what it has often seen survive: here, what every request makes that waits for
// the storage, and is garbage a moment later. A full collection of that costs far more memory and time than many small ones.
setFlagsFromString('--no-allocation-site-pretenuring');

process.exitCode = await runCommandLine(process.argv.slice(2));
