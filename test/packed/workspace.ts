import { join } from 'node:path';
import type { Platform } from '../support/host/platforms.js';

export type Example = 'monorepo' | 'commonjs-host';
/** The hosts that `nest new` makes. */
export type Layout = 'nest-11' | 'nest-12-cjs' | 'nest-12-esm';

/** A file or folder of the copy of an example, in which the packed store is installed. */
export function inExample(example: Example, path = ''): string {
  return join(workspace(), 'examples', example, path);
}

/** A file or folder of the host of a layout, in which the packed store is installed. */
export function inLayout(layout: Layout, path = ''): string {
  return join(workspace(), 'layouts', layout, path);
}

/** A file or folder of a host that this package manager has installed. */
export function inManager(manager: 'yarn-pnp' | 'pnpm', path = ''): string {
  return join(workspace(), 'managers', manager, path);
}

/** A file or folder of what bundlers have made of the smallest host, or of one on Fastify; nothing else is near it. */
export function inBundle(platform: Platform, path: string): string {
  return join(workspace(), 'bundles', platform, path);
}

function workspace(): string {
  const folder = process.env.PACKED_WORKSPACE;
  if (!folder) throw new Error('PACKED_WORKSPACE is not set: run these suites with `npm run test:packed`.');
  return folder;
}
