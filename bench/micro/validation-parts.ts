import type { JsonObject } from '../../src/http/exact-json.js';
import { loadBuild } from './load-build.js';
import type { Part } from './part.js';

/** From a parsed body to a NewPlant that has been checked. */
export async function validationParts(): Promise<Part[]> {
  const { NewPlantPipe } = await loadBuild<typeof import('../../src/plants/new-plant.js')>('plants/new-plant.js');
  const { Sealed } = await loadBuild<typeof import('../../src/http/sealed-body.js')>('http/sealed-body.js');
  const { parseExactJson } = await loadBuild<typeof import('../../src/http/exact-json.js')>('http/exact-json.js');
  const pipe = new NewPlantPipe();
  const check = (body: JsonObject): Promise<unknown> => pipe.transform(new Sealed(body), { type: 'custom' });
  const plant = parseExactJson('{"id":9007199254740993,"name":"Rose","tag":"flower"}') as JsonObject;
  const noPlant = parseExactJson('{"id":1.5,"tag":5}') as JsonObject;
  return [
    { title: 'validation, a plant', run: () => check(plant), concurrency: 1 },
    { title: 'validation, three faults', run: () => check(noPlant).catch(() => undefined), concurrency: 1 },
  ];
}
