import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OTHERS = 'README CHANGELOG CONTRIBUTING SECURITY bench/README deploy/citus/README'.split(' ');

/** The pages that people write, and those that programs do. */
export const PAGES = [...OTHERS.map((name) => `${name}.md`), ...pagesIn('docs'), ...pagesIn('docs/adr')];

export const read = (path: string): string => readFileSync(ROOT + path, 'utf8');

function pagesIn(folder: string): string[] {
  const names = readdirSync(ROOT + folder).filter((name) => name.endsWith('.md'));
  return names.map((name) => `${folder}/${name}`);
}

/** A block of code on a page. */
interface Block {
  readonly page: string;
  /** Without the indentation of the list that it is in. */
  readonly code: string;
}

/** All blocks of the README and of `docs/` in one of these languages. */
export function blocksIn(...languages: string[]): Block[] {
  return PAGES.filter((page) => /^(?:README|docs\/[\w-]+)\.md$/.test(page)).flatMap((page) =>
    [...read(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)]
      .filter(([, , language = '']) => languages.includes(language))
      .map(([, indent = '', , code = '']) => ({ page, code: code.replaceAll(`\n${indent}`, '\n') })),
  );
}

/** What no test has: root, a container engine, a cluster, a registry, a name in DNS. */
const ELSEWHERE = /\b(?:docker|sudo|useradd|systemctl|kubectl|git pull|npm (?:ci|install)|install -|caddy|haproxy)/;

/** The commands that a test runs as they are. The README has a suite of its own, and the page on faults says how it is written. */
export const COMMANDS = blocksIn('sh').filter(({ page, code }) => !/README|faults/.test(page) && !ELSEWHERE.test(code));

/** The cells of each row of the table under this header. */
export function tableOf(page: string, header: string): string[][] {
  const lines = read(page).split('\n');
  const start = lines.findIndex((line) => line.replace(/\s+/g, ' ').startsWith(header));
  const rows = start < 0 ? [] : lines.slice(start + 2, lines.indexOf('', start));
  return rows.map((row) => row.split('|').slice(1, -1)).map((cells) => cells.map((cell) => cell.trim()));
}
