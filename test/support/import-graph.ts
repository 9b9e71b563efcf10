import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

/**
 * What a file imports from elsewhere, itself or through files of its own package, sooner or later: names of packages, and
 * of Node's own modules with their `node:`.
 *
 * @param file a module, or a declaration file
 */
export async function importsOf(file: string): Promise<Set<string>> {
  const files = new Set([file]);
  const names = new Set<string>();
  // A set also visits what is added on the way.
  for (const visited of files) {
    for (const { fileName: specifier } of ts.preProcessFile(await readFile(visited, 'utf8')).importedFiles) {
      if (specifier.startsWith('.')) files.add(besides(visited, specifier));
      else names.add(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    }
  }
  return names;
}

function besides(file: string, specifier: string): string {
  const module = join(dirname(file), specifier);
  return file.endsWith('.d.ts') ? module.replace(/\.js$/, '.d.ts') : module;
}
