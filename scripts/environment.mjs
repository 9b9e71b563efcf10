// Writes .env.example, and the table of docs/configuration.md, from the table of variables. With --check it says which of them differs.
import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { SECRETS, VARIABLES } from '../dist/service/environment.js';

const EXAMPLE = new URL('../.env.example', import.meta.url);
const PAGE = new URL('../docs/configuration.md', import.meta.url);
const rows = Object.entries(VARIABLES).map(([name, [, initial, about]]) => ({ name, initial, about }));

const files = SECRETS.map((name) => `${name}_FILE`).join(', ');
const head = `# The variables of the plant store, each with its default. An empty one counts as not set.
# A secret is read from a file, if its path is set instead: ${files}.
`;
const example = head + rows.map(({ name, initial, about }) => `\n# ${about}.\n#${name}=${initial}\n`).join('');

const cells = rows.map(({ name, initial, about }) => `| \`${name}\` | ${initial && `\`${initial}\``} | ${about} |`);
const table = ['| Variable | Default | |', '| --- | --- | --- |', ...cells, ''].join('\n');
const page = readFileSync(PAGE, 'utf8').replace(/^\| Variable [^]*?\n(?=\n)/m, table);

const options = { ...(await resolveConfig(PAGE)), parser: 'markdown' };
for (const [file, text] of [
  [EXAMPLE, example],
  [PAGE, await format(page, options)],
]) {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${file.pathname} differs from the code: run "npm run build && node scripts/environment.mjs"`);
    process.exitCode = 1;
  }
}
