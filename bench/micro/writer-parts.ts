import type { INestApplicationContext } from '@nestjs/common';
import { loadBuild } from './load-build.js';
import type { Part } from './part.js';

const NAME = 'Rose';

/** From a NewPlant to its commit, in a real database, without HTTP. */
export async function writerParts(app: INestApplicationContext): Promise<Part[]> {
  const { PlantsService } = await loadBuild<typeof import('../../src/index.js')>('index.js');
  const plants = app.get(PlantsService, { strict: false });
  let id = 0n;
  const run = (): Promise<unknown> => {
    id += 1n;
    return plants.create({ id, name: NAME, tag: 'flower' });
  };
  return [1, 8, 64, 256].map((concurrency) => ({ title: `create, ${concurrency} at a time`, run, concurrency }));
}
