#!/usr/bin/env node
import 'reflect-metadata';
import { runCommandLine } from './cli/cli.js';

process.exitCode = await runCommandLine(process.argv.slice(2));
