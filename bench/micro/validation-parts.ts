import type { JsonObject } from '../../src/http/exact-json.js';
import { loadBuild } from './load-build.js';
import type { Part } from './part.js';

/** From a parsed body to a NewPlant that has been checked. */
export async function validationParts(): Promise<Part[]> {
  const { parseNewPlant } = await loadBuild<typeof import('../../src/plants/new-plant.js')>('plants/new-plant.js');
  const { parseExactJson } = await loadBuild<typeof import('../../src/http/exact-json.js')>('http/exact-json.js');
  const plant = parseExactJson('{"id":9007199254740993,"name":"Rose","tag":"flower"}') as JsonObject;
  const noPlant = parseExactJson('{"id":1.5,"tag":5}') as JsonObject;
  const refuse = (): unknown => {
    try {
      return parseNewPlant(noPlant);
    } catch (error) {
      return error;
    }
  };
  return [
    { title: 'validation, a plant', run: () => parseNewPlant(plant) },
    { title: 'validation, three faults', run: refuse },
  ];
}
