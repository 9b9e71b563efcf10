#!/usr/bin/env node
import { runCommandLine } from './service/cli/program.js';

void runCommandLine(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
