#!/usr/bin/env node
import 'reflect-metadata';
import { runCommandLine } from './cli/commands.js';

void runCommandLine(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
