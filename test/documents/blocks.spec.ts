import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';
import { ACCOUNTS, type Block, blocks } from '../support/documents/blocks.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const blocksIn = (...languages: string[]): [string, Block][] =>
  blocks
    .filter(({ language }) => languages.includes(language))
    .map((block) => [`${block.page}: ${block.code.slice(0, 40).trim()}`, block]);

describe('the blocks of the README and of docs/', () => {
  it('should each be run by a test, or have a reason why not', () => {
    const unaccounted = blocks
      .map(({ page, code }) => ({
        page,
        code: code.slice(0, 60),
        accounts: ACCOUNTS[page]?.filter(({ words }) => code.includes(words)).length ?? 0,
      }))
      .filter(({ accounts }) => accounts !== 1);
    expect(unaccounted).toEqual([]);
    expect(blocks.length).toBeGreaterThan(60);
  });

  it.each(Object.keys(ACCOUNTS))('should be those that are accounted for: %s', (page) => {
    for (const { words, by, because } of ACCOUNTS[page] ?? []) {
      const found = blocks.filter((block) => block.page === page && block.code.includes(words)).length;
      expect([words, found, (by === undefined) === (because !== undefined)]).toEqual([words, 1, true]);
      if (by !== undefined) expect([words, by, existsSync(ROOT + by)]).toEqual([words, by, true]);
    }
  });

  it.each(blocksIn('sh'))('should be a script of a shell: %s', (_, { code }) => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: code, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  it.each(blocksIn('ts', 'js'))('should be TypeScript: %s', (_, { code }) => {
    const compilerOptions = { target: ts.ScriptTarget.ESNext, experimentalDecorators: true };
    const { diagnostics = [] } = ts.transpileModule(code, { reportDiagnostics: true, compilerOptions });
    expect(diagnostics.map(({ messageText }) => messageText)).toEqual([]);
  });

  it.each(blocksIn('json'))('should be JSON: %s', (_, { code }) => {
    expect(() => JSON.parse(code) as unknown).not.toThrow();
  });

  it.each(blocksIn('yaml'))('should be YAML: %s', (_, { code }) => {
    expect(parseAllDocuments(code).flatMap((document) => ('errors' in document ? document.errors : []))).toEqual([]);
  });
});
