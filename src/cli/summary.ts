import type { Environment } from '../service/environment.js';
import { packageVersion } from '../util/package-files.cjs';

/**
 * Says how to use a store that has started with the embedded database.
 * @param listener where it listens
 * @param token the one that the service has made for itself
 */
export function printSummary(listener: string, { BASE_PATH, DOCS }: Environment, token: string | undefined): void {
  const url = listener.replace('0.0.0.0', '127.0.0.1').replace('[::]', '[::1]');
  // The part after # stays in the browser.
  const fragment = token === undefined ? '' : `#token=${token}`;
  const lines = [
    '',
    `Plant Store ${packageVersion()}`,
    '',
    `  Plants  ${url}${BASE_PATH}/plants`,
    ...(DOCS ? [`  Docs    ${url}/docs${fragment}`] : []),
    '',
    ...(token === undefined ? [] : ['Create a plant:', '', curlCommand(`${url}${BASE_PATH}/plants`, token), '']),
    'Look into the database:',
    '',
    'psql "$(cat .data/database-url)"',
    '',
  ];
  console.log(lines.join('\n'));
}

/** A command that creates a plant, and another plant each time it is printed: the id is the time. */
function curlCommand(url: string, token: string): string {
  const plant = JSON.stringify({ id: Date.now(), name: 'Rose', tag: 'flower' });
  const headers = [`Authorization: Bearer ${token}`, 'Content-Type: application/json'];
  return `curl -X POST ${url} ${headers.map((header) => `-H '${header}'`).join(' ')} -d '${plant}'`;
}
