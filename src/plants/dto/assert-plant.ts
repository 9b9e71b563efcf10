import { validateSync } from 'class-validator';
import { type JsonValue, toJsonValue } from '../../http/json-value.js';
import { InvalidPlantError } from '../invalid-plant.error.js';
import { isInt64 } from '../int64.js';
import { isPlant } from './is-plant.js';
import { NewPlant } from '../new-plant.js';

/** @throws InvalidPlantError where code of the application gave no plant; JavaScript has no types, so all is checked */
export function assertPlant(given: unknown): asserts given is NewPlant {
  const fields = Object(given) as Record<string, unknown>;
  if (isPlant(fields)) return;
  const faults = plantFaults(fields);
  if (faults.length > 0) throw new InvalidPlantError(faults);
}

/** What keeps these from being the fields of a plant. */
export function plantFaults({ id, name, tag }: Record<string, unknown>): string[] {
  const isNumber = typeof id === 'number';
  const plant = { id: isNumber || isInt64(id) ? 0n : asJson(id), name: asJson(name), tag: asJson(tag) };
  const faults = validateSync(Object.assign(new NewPlant(), plant)).flatMap(({ constraints }) =>
    Object.values(constraints ?? {}),
  );
  if (isNumber) faults.unshift(`id is the number ${id}, which may have been rounded; it must be a bigint, such as 1n`);
  return faults;
}

/** As a client would have sent it: the rules speak of JSON. */
function asJson(value: unknown): JsonValue | undefined {
  return value === undefined ? undefined : toJsonValue(value);
}
