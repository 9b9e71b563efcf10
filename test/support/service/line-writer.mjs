import { createInterface } from 'node:readline';
import { ServiceLogger } from '../../../dist/service/logger.js';

// Logs as many long lines as each line of standard input says, and then says so on standard error.
const logger = new ServiceLogger({ LOG_LEVEL: 'log', LOG_REQUESTS: 'all' });
for await (const count of createInterface(process.stdin)) {
  for (let i = 0; i < Number(count); i++) logger.log('x'.repeat(10_000), 'Request');
  console.error(count);
}
