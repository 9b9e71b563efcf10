import { describe, expect, it } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';

const ROOT = new URL('../../', import.meta.url);
const FOLDERS = ['src', 'scripts'];
/** Hard to read for engineers whose first language is not English. CONTRIBUTING.md, "Plain English", has examples. */
const HARD_WORDS: [hard: RegExp, plain: string][] = [
  [/\bwhom\b/i, 'the owner of, which'],
  [/(?<!\bthere )\b(?:is|are) none\b/i, 'is invalid, is missing'],
  [/\b(?:to|by|but) nobody\b/i, 'undefined, unknown'],
  [/\bbut in time\b/i, 'before the limit'],
  [/\bwhoever\b/i, 'a client that'],
  [/\bwhat bec(?:omes|ame) of\b/i, 'the result of'],
  [/\bunder way\b/i, 'in flight, running'],
  [/\bbeside\b/i, 'in addition to'],
  [/\btold\b/i, 'reported'],
  [/\b(?:lent|lends?)\b/i, 'borrowed from the host'],
  [/\bmends?\b/i, 'repairs, fixes'],
  [/\bgoes? without\b/i, 'needs no'],
  // SQL has it in capitals. After these words it means "if"; of a place it is right.
  [
    /\b(?:undefined|null|empty|nothing|true|false|throws?|\w*Error|rejects|resolves|fails?|refused|only|even) where\b/,
    'if',
  ],
  [
    /[;,:.] [Ww]here (?:there|it|they|the|that|this|no|none|nothing|one|each|all) \w+ (?:is|are|has|have|was|were)\b/,
    'if',
  ],
];

async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(new URL(folder, ROOT), { recursive: true });
  return names
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((file) => /\.(?:[cm]?[jt]s|sh)$/.test(file) && !file.includes('/generated/'));
}

describe('comments, titles of tests and messages', () => {
  it('should have no words that are hard to read', async () => {
    const files = (await Promise.all(FOLDERS.map(filesIn))).flat();
    expect(files.length).toBeGreaterThan(100);
    const found: string[] = [];
    for (const file of files) {
      const lines = (await readFile(new URL(file, ROOT), 'utf8')).split('\n');
      for (const [hard, plain] of HARD_WORDS) {
        for (const [index, line] of lines.entries())
          if (hard.test(line)) found.push(`${file}:${index + 1}: ${line.trim()} (write: ${plain})`);
      }
    }
    expect(found).toEqual([]);
  });
});
