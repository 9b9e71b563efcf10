#!/usr/bin/env node
import module from 'node:module';
import { COMPILE_CACHE } from './util/package-files.cjs';

// Keeps what V8 compiled for the next start, from Node.js 22.1 on. It does nothing if that folder cannot be written, and
// leaves a folder of NODE_COMPILE_CACHE alone. Everything else is loaded after it.
(module as { enableCompileCache?: (folder: string) => void }).enableCompileCache?.(COMPILE_CACHE);

void import('./service/cli/program.js')
  .then(({ runCommandLine }) => runCommandLine(process.argv.slice(2)))
  .then((exitCode) => {
    process.exitCode = exitCode;
  });
