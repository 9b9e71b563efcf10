import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The links of a Markdown file that lead nowhere: to a file that is missing, or to an anchor that the file does not have. */
export function brokenLinks(root: string, page: string): string[] {
  const text = withoutCode(readFileSync(join(root, page), 'utf8'));
  const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  return links
    .filter(([, path = '', anchor]) => {
      const target = path === '' ? join(root, page) : join(root, dirname(page), path);
      // What is above the root is on this machine only.
      if (!target.startsWith(join(root)) || !existsSync(target)) return true;
      return anchor !== undefined && !anchorsOf(readFileSync(target, 'utf8')).includes(anchor);
    })
    .map(([link]) => `${page} ${link}`);
}

/** The anchors that GitHub makes of a page's headings, and those that it has itself. */
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
