import { styleText } from 'node:util';
import { packageVersion } from '../util/package-files.cjs';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
const CLEAR_LINE = '\r\u001b[2K';

/** Whether a person watches: not where the output goes into a pipe, a file, or the log of a build server. */
function isWatched(): boolean {
  return process.stdout.isTTY && !process.env.CI;
}

interface Progress {
  /** Prints a line above the one that moves. */
  print: (line: string) => void;
  end: () => void;
}

/** A line that moves until its end, and then is gone; nothing where nobody watches. */
export function showProgress(text: string): Progress {
  const print = (line: string): void => {
    console.log(line);
  };
  // Of the cursor only the place is changed, so there is nothing else to restore.
  if (!isWatched() || process.env.TERM === 'dumb') return { print, end: () => undefined };
  let count = 0;
  const draw = (): void => {
    process.stdout.write(`${CLEAR_LINE}${FRAMES[count++ % FRAMES.length] ?? ''} ${text}`);
  };
  const timer = setInterval(draw, FRAME_MS);
  const end = (): void => {
    clearInterval(timer);
    process.off('exit', end);
    process.stdout.write(CLEAR_LINE);
  };
  process.once('exit', end);
  draw();
  return {
    print: (line) => {
      process.stdout.write(CLEAR_LINE);
      print(line);
    },
    end,
  };
}

interface RunningStore {
  url: string;
  basePath: string;
  /** Whether Swagger UI is served. */
  docs: boolean;
  production: boolean;
  /** The one that the service has made for itself. */
  token: string | undefined;
  /** The folder of an embedded PostgreSQL. */
  location: string | undefined;
}

/** Says how to use the store: a summary for a person, and otherwise only the command with the token that nobody else knows. */
export function printSummary({ url, basePath, docs, production, token, location }: RunningStore): void {
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
