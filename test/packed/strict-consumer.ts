import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The ways in which TypeScript resolves an import in Node.js or a bundler. */
export const RESOLUTIONS = {
  node16: { module: 'node16' },
  node20: { module: 'node20' },
  nodenext: { module: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
};
export type Resolution = keyof typeof RESOLUTIONS;

/**
 * Writes a project that imports the package, as an ES module and as a CommonJS file, under the strictest settings.
 * Returns the name of its configuration.
 */
export async function writeStrictConsumer(folder: string, settings: object): Promise<string> {
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
  for (const file of files) await writeFile(join(folder, file), `export * from 'plant-store';\n`);
  await writeFile(join(folder, 'tsconfig.strict.json'), JSON.stringify({ compilerOptions, files }));
  return 'tsconfig.strict.json';
}
