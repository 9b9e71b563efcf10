import { rm } from 'node:fs/promises';
import tearDownDatabase from '../support/jest/global-teardown.mjs';

/** Jest's globalTeardown: leaves neither folder nor server nor database behind. */
export default async function globalTeardown() {
  if (process.env.PACKED_WORKSPACE) await rm(process.env.PACKED_WORKSPACE, { recursive: true, force: true });
  delete process.env.PACKED_WORKSPACE;
  await tearDownDatabase();
}
