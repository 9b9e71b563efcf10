import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Jest reporter: collects what suites measure with `figure()` and prints it as one Markdown table at the end. */
export default class FiguresReporter {
  onRunStart() {
    this.directory = mkdtempSync(join(tmpdir(), 'plant-store-figures-'));
    // Jest's workers inherit it.
    process.env.TEST_FIGURES = join(this.directory, 'figures.jsonl');
  }

  onRunComplete() {
    const rows = readLines(process.env.TEST_FIGURES).map((line) => JSON.parse(line));
    rmSync(this.directory, { recursive: true });
    if (rows.length === 0) return;
    console.log(
      ['', '| what | figure |', '|---|---|', ...rows.map(([what, value]) => `| ${what} | ${value} |`)].join('\n'),
    );
  }
}

function readLines(path) {
  try {
    return readFileSync(path, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
