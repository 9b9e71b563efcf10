#!/usr/bin/env node
import { runCommandLine } from './cli/program.js';

process.exitCode = (await runCommandLine(process.argv.slice(2))) || process.exitCode;
