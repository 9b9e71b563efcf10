import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
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

/** Every TypeScript file below a folder, with the files there that it imports, types included: by path from the folder. */
export async function importGraph(folder: string): Promise<Map<string, string[]>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => /(?<!\.spec|\.d)\.[cm]?ts$/.test(file));
  const entries = files.map(async (file): Promise<[string, string[]]> => {
    const specifiers = (await specifiersOf(join(folder, file))).filter((specifier) => specifier.startsWith('.'));
    return [file, specifiers.map((specifier) => join(dirname(file), specifier).replace(/js$/, 'ts'))];
  });
  return new Map(await Promise.all(entries));
}

/** The first folder of each path, or nothing for a file in no folder. */
export function folderGraph(files: Map<string, string[]>): Map<string, string[]> {
  const folders = new Map<string, string[]>();
  for (const [file, imported] of files) {
    const folder = folderOf(file);
    const others = imported.map(folderOf).filter((other) => other !== folder);
    folders.set(folder, [...new Set([...(folders.get(folder) ?? []), ...others])]);
  }
  return folders;
}

/** Every group of nodes that reach each other, as one line. */
export function cyclesOf(graph: Map<string, string[]>): string[] {
  const reached = new Map([...graph.keys()].map((node) => [node, reachableFrom(node, graph)]));
  const groups = [...reached]
    .filter(([node, others]) => others.has(node))
    .map(([node, others]) => [...others].filter((other) => reached.get(other)?.has(node)).sort());
  return [...new Set(groups.map((group) => group.join(' <-> ')))];
}

function reachableFrom(node: string, graph: Map<string, string[]>): Set<string> {
  const reached = new Set(graph.get(node));
  for (const each of reached) for (const next of graph.get(each) ?? []) reached.add(next);
  return reached;
}

function folderOf(file: string): string {
  return file.includes(sep) ? (file.split(sep, 1)[0] ?? '') : '';
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
