import { basename, relative } from 'node:path';
import { styleText } from 'node:util';
import type { Environment } from '../app/config.js';
import { packageVersion } from '../util/package-files.cjs';
import { isWatched } from './local-database.js';

/**
 * Says how to use the store: a summary for a person, and otherwise only the command with the token that is known nowhere else.
 * @param token the one that the service has made for itself
 */
export function printSummary(
  urls: Readonly<{ public: string; management: string }>,
  { basePath, docs, production }: Environment,
  token: string | undefined,
  location: string | undefined,
): void {
  const [url, management] = [urls.public, urls.management].map((each) =>
    each.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]'),
  );
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
    ['Manage', `${management}  (/livez, /readyz, /metrics, /info)`],
  ].filter((row) => row !== false);
  const lines = rows.map(([label = '', text = '']) => `  ${paint('dim', label.padEnd(8))}${paint('cyan', text)}`);
  const program = ownCommand();
  const hints = [
    `List them: ${program} plants list`,
    // Only the scripts of a checkout read that file.
    `Other ports: PORT and MANAGEMENT_PORT, in the environment${program.startsWith('npm') ? ' or in .env' : ''}`,
    'Ctrl-C stops it.',
  ].join('\n');
  const title = paint(['bold', 'green'], `Plant Store ${packageVersion()}`);
  console.log(`\n  ${title}\n\n${lines.join('\n')}\n${command}\n${paint('dim', hints)}\n`);
}

/** The command line, as it can be called here. */
export function ownCommand(
  path = process.argv[1] ?? '',
  { npm_lifecycle_event, npm_package_name } = process.env,
): string {
  if (npm_lifecycle_event === 'npx') return 'npx plant-store';
  // Of a checkout, and not of an application that has the store in it.
  if (npm_lifecycle_event !== undefined && npm_package_name === 'plant-store') return 'npm run --silent plant-store --';
  return basename(path) === 'plant-store' ? 'plant-store' : `node ${relative('', path)}`;
}

/** A command that creates a plant, and another plant each time it is printed: the id is the time. */
function curlCommand(url: string, token: string): string {
  const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
  const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  return `curl -X POST ${url} ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${plant}'`;
}
