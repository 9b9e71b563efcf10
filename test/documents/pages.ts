import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const pagesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** The pages that people write, and those that programs do. */
export const PAGES = [...['', 'docs', 'docs/adr'].flatMap(pagesIn), ...['bench/README.md', 'deploy/citus/README.md']];

export const read = (path: string): string => readFileSync(ROOT + path, 'utf8');

/** All blocks of code of the README and of `docs/` in this language, without the indentation of a list that they are in. */
export function blocksIn(language: string): { page: string; code: string }[] {
  return PAGES.filter((page) => /^(?:README|docs\/[\w-]+)\.md$/.test(page)).flatMap((page) =>
    [...read(page).matchAll(/^( *)```(\w+)\n([^]*?)^\1```$/gm)]
      .filter(([, , of]) => of === language)
      .map(([, indent = '', , code = '']) => ({ page, code: code.replaceAll(`\n${indent}`, '\n') })),
  );
}

/** The links of a page that lead nowhere: to a file that is missing, or to an anchor that the file does not have. */
export function brokenLinks(page: string): string[] {
  const withoutCode = (text: string): string => text.replace(/^ *```.*?^ *```/gms, '');
  // As GitHub makes an anchor of a heading.
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
  return [...withoutCode(read(page)).matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
    .filter(([, path = '', anchor]) => {
      const target = path === '' ? page : join(dirname(page), path);
      // What is above the root is on this machine only.
      if (target.startsWith('..') || !existsSync(ROOT + target)) return true;
      const headings = anchor === undefined ? [] : withoutCode(read(target)).matchAll(/^#+ (.+)$/gm);
      return anchor !== undefined && ![...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
    })
    .map(([link]) => `${page} ${link}`);
}
