import { createInterface } from 'node:readline';
import { logWriter } from '../../../dist/util/log-writer.js';

// Logs as many long lines as each line of standard input says, and prints to standard error how many were dropped so far.
const line = JSON.stringify({ message: 'x'.repeat(10_000) });
for await (const count of createInterface(process.stdin)) {
  for (let i = 0; i < Number(count); i++) logWriter.write(line);
  console.error(logWriter.dropped);
}
