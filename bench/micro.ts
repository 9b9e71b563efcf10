import { join } from 'node:path';
import { BenchmarkPostgres } from './database/benchmark-postgres.js';
import { guardParts } from './micro/guard-parts.js';
import { measurePart } from './micro/measure-part.js';
import { openStore } from './micro/open-store.js';
import { parserParts } from './micro/parser-parts.js';
import { validationParts } from './micro/validation-parts.js';
import { writerParts } from './micro/writer-parts.js';
import { describeMachine } from './report/machine.js';
import { numberText } from './report/number-text.js';
import { table } from './report/table.js';
import { ROOT } from './root.js';
import { runBenchmark } from './run-benchmark.js';

await runBenchmark(async (signal) => {
  await using postgres = await BenchmarkPostgres.start();
  const database = await postgres.createDatabase('micro', join(ROOT, 'dist'));
  const app = await openStore(database.url);
  try {
    const parts = await Promise.all([parserParts(), guardParts(app), validationParts(), writerParts(app)]);
    const rows = [];
    for (const part of parts.flat()) {
      const nanoseconds = await measurePart(part, signal);
      rows.push([part.title, numberText(nanoseconds), numberText(1e9 / nanoseconds)]);
    }
    console.log(`${describeMachine()}\n\n${table(['part', 'ns', 'a second'], rows)}`);
  } finally {
    await app.close();
  }
});
