import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ENTRIES } from '../documents/package-manifest.js';

/** The ways in which TypeScript resolves an import in Node.js or a bundler. */
export const RESOLUTIONS = {
  node16: { module: 'node16' },
  node20: { module: 'node20' },
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};
export type Resolution = keyof typeof RESOLUTIONS;

/**
 * Writes a project that imports every entry of the package, as an ES module and as a CommonJS file, under the strictest settings.
 * Returns the name of its configuration.
 */
export async function writeStrictConsumer(folder: string, settings: object): Promise<string> {
  const everything = ENTRIES.map(({ specifier }, index) => `export * as entry${index} from '${specifier}';\n`).join('');
  const compilerOptions = {
    target: 'es2023',
    // Nest's own declarations need those of Node.
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    ...settings,
  };
  const files = ['strict.mts', 'strict.cts'];
  for (const file of files) await writeFile(join(folder, file), everything);
  await writeFile(join(folder, 'tsconfig.strict.json'), JSON.stringify({ compilerOptions, files }));
  return 'tsconfig.strict.json';
}
