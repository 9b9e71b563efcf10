import { styleText } from 'node:util';
import type { Environment } from '../app/config.js';
import { packageVersion } from '../util/package-files.cjs';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
const CLEAR_LINE = '\r\u001b[2K';

/** Whether a person watches: not where the output goes into a pipe, a file, or the log of a build server. */
function isWatched(): boolean {
  return process.stdout.isTTY && !process.env.CI;
}

/** Does the work below a line that moves until its end, and then is gone; without it where nobody watches. */
export async function withProgress<T>(text: string, work: (print: (line: string) => void) => Promise<T>): Promise<T> {
  // Of the cursor only the place is changed, so there is nothing else to restore.
  if (!isWatched() || process.env.TERM === 'dumb') return work(console.log);
  let count = 0;
  const clear = (): void => {
    process.stdout.write(CLEAR_LINE);
  };
  const draw = (): void => {
    process.stdout.write(`${CLEAR_LINE}${FRAMES[count++ % FRAMES.length] ?? ''} ${text}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  process.once('exit', clear);
  draw();
  try {
    return await work((line) => {
      clear();
      console.log(line);
    });
  } finally {
    clearInterval(timer);
    process.off('exit', clear);
    clear();
  }
}

/**
 * Says how to use the store: a summary for a person, and otherwise only the command with the token that nobody else knows.
 *
 * @param token the one that the service has made for itself
 * @param location the folder of an embedded PostgreSQL
 */
export function printSummary(
  url: string,
  { basePath, docs, production }: Environment,
  token: string | undefined,
  location: string | undefined,
): void {
  const plants = `${url}${basePath}/plants`;
  const command = token === undefined ? '' : `\nCreate a plant:\n\n${curlCommand(plants, token)}\n`;
  if (!isWatched() || production) {
    if (token !== undefined) console.log(`${command}${docs ? `\nOr explore it: ${url}/docs\n` : ''}`);
    return;
  }
  const paint: typeof styleText = process.stdout.hasColors() ? styleText : (_, text) => text;
  // The part after # stays in the browser.
  const fragment = token === undefined ? '' : `#token=${token}`;
  const rows = [
    ['Plants', plants],
    docs && ['Docs', `${url}/docs${fragment}`],
    token !== undefined && ['Token', token],
    ['Data', location ?? 'in the database that DATABASE_URL names'],
  ].filter((row) => row !== false);
  const lines = rows.map(([label = '', text = '']) => `  ${paint('dim', label.padEnd(8))}${paint('cyan', text)}`);
  const title = paint(['bold', 'green'], `Plant Store ${packageVersion()}`);
  console.log(`\n  ${title}\n\n${lines.join('\n')}\n${command}\n${paint('dim', 'Ctrl-C stops it.')}\n`);
}

/** A command that creates a plant, and another plant each time it is printed: the id is the time. */
function curlCommand(url: string, token: string): string {
  const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
  const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  return `curl -X POST ${url} ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${plant}'`;
}
