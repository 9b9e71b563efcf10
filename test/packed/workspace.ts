import { join } from 'node:path';

/** The hosts that `nest new` makes. */
export type Layout = 'nest-11' | 'nest-12-cjs' | 'nest-12-esm';

/** A file or folder of the host of a layout, in which the packed store is installed. */
export function inLayout(layout: Layout, path = ''): string {
  return inWorkspace(join('layouts', layout, path));
}

export function inWorkspace(path: string): string {
  const folder = process.env.PACKED_WORKSPACE;
  if (!folder) throw new Error('PACKED_WORKSPACE is not set: run these suites with `npm run test:packed`.');
  return join(folder, path);
}
