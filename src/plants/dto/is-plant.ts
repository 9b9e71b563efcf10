import { isInt64 } from '../int64.js';
import type { NewPlant } from '../new-plant.js';
import { isStorableText } from './storable-text.js';

/**
 * Whether these are the fields of a plant. It judges as the decorators of `NewPlant` do, by the same rules, but looks nothing up
 * and so takes next to no time. What is wrong with others is for them to say.
 */
export function isPlant({ id, name, tag }: Partial<Record<keyof NewPlant, unknown>>): boolean {
  return isInt64(id) && isStorableText(name) && (tag === undefined || isStorableText(tag));
}
