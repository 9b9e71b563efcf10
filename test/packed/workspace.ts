import { join } from 'node:path';

export type Example = 'monorepo' | 'commonjs-host';
export type ModuleFormat = 'esm' | 'commonjs';

/** A file or folder of the copy of an example, in which the packed store is installed. */
export function inExample(example: Example, path = ''): string {
  return join(workspace(), 'examples', example, path);
}

/** The main program of the host with this module format. */
export function hostProgram(format: ModuleFormat): string {
  return inExample('monorepo', `hosts/${format}/dist/main.js`);
}

function workspace(): string {
  const folder = process.env.PACKED_WORKSPACE;
  if (!folder) throw new Error('PACKED_WORKSPACE is not set: run these suites with `npm run test:packed`.');
  return folder;
}
