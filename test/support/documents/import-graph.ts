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
    for (const specifier of await specifiersOf(visited)) {
      if (specifier.startsWith('.')) files.add(besides(visited, specifier));
      else names.add(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier);
    }
  }
  return names;
}

async function specifiersOf(file: string): Promise<string[]> {
  return ts
    .preProcessFile(await readFile(file, 'utf8'), true, file.endsWith('.js'))
    .importedFiles.map(({ fileName }) => fileName);
}

function besides(file: string, specifier: string): string {
  const module = join(dirname(file), specifier);
  return /\.d\.[cm]?ts$/.test(file) ? module.replace(/\.([cm]?)js$/, '.d.$1ts') : module;
}
