import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const OTHERS = 'README CHANGELOG CONTRIBUTING SECURITY bench/README deploy/citus/README examples/monorepo/README'.split(
  ' ',
);

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

/** The links of a page that lead nowhere: to a file that is missing, or to an anchor that the file does not have. */
export function brokenLinks(root: string, page: string): string[] {
  const text = withoutCode(readFileSync(join(root, page), 'utf8'));
  return [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
    .filter(([, path = '', anchor]) => {
      const target = path === '' ? join(root, page) : join(root, dirname(page), path);
      // What is above the root is on this machine only.
      if (!target.startsWith(join(root)) || !existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    })
    .map(([link]) => `${page} ${link}`);
}

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(text: string): string[] {
  return [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^ *```.*?^ *```/gms, '');
}
