// Builds, unless dist/ is a build of just these sources. With --quick it may be one of only what a start needs.
import { isBuilt } from './sources.mjs';

const kinds = process.argv.includes('--quick') ? ['quick', 'whole'] : ['whole'];
if (!isBuilt(...kinds)) {
  // Standard output is for what a command prints.
  console.error('Building …');
  await import('./build.mjs');
}
