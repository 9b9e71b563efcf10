import { describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import 'reflect-metadata';
import { Environment } from '../src/config/environment.js';
import { describeVariables } from '../src/config/variable.decorator.js';
import { ERROR_CATALOGUE } from '../src/errors/error-catalogue.js';

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

/** The cells of each row of the table under this header. */
function table(header: string): string[][] {
  const lines = readme.split('\n');
  const start = lines.findIndex((line) => line.replace(/\s+/g, ' ').startsWith(header));
  const rows = lines.slice(start + 2, lines.indexOf('', start));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('README', () => {
  it('should list every error number as the catalogue has it', () => {
    const catalogue = Object.entries(ERROR_CATALOGUE).map(([error, { meaning, retry }]) => [error, meaning, retry]);
    expect(table('| error | meaning |')).toEqual(catalogue);
  });

  it('should list every variable with its default and meaning', () => {
    const variables = describeVariables(Environment).map((variable) => [
      `\`${variable.name}\``,
      variable.default === '' ? '' : `\`${variable.default}\``,
      variable.about,
    ]);
    expect(table('| Variable | Default |')).toEqual(variables);
  });

  it('should show the smallest host as it is', async () => {
    const host = await readFile(new URL('../examples/commonjs-host/src/main.ts', import.meta.url), 'utf8');
    expect(readme).toContain(`\n\`\`\`ts\n${host}\`\`\`\n`);
  });
});
