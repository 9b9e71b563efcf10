import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../root.js';

/** A module of the build in dist/, which is what runs: what the compiler makes of the benchmark's imports is a copy. */
export function loadBuild<Module>(path: string): Promise<Module> {
  return import(pathToFileURL(join(ROOT, 'dist', path)).href) as Promise<Module>;
}
