import type { PendingCreate } from './pending-create.js';
import { WriteQueueFullError } from './write-queue-full.error.js';

/** The most plants in one statement. */
export const MOST_PLANTS = 500;
/** The most characters of plants in one statement; a longer plant has a statement to itself. */
const MOST_CHARACTERS = 2 ** 20;
/** The most characters of plants that wait, however few plants they are. */
const MOST_CHARACTERS_WAITING = 2 ** 26;

/** Creates that wait for a statement, in the order in which they came. */
export class WriteQueue {
  private readonly entries: PendingCreate[] = [];
  private size = 0;

  get length(): number {
    return this.entries.length;
  }

  /** @throws WriteQueueFullError where so many wait already, or so long ones that they take too much memory */
  add(entry: PendingCreate, limit: number): void {
    if (this.length >= limit || (this.length > 0 && this.size + entry.size > MOST_CHARACTERS_WAITING)) {
      throw new WriteQueueFullError(`${this.length} creates wait for the database`);
    }
    this.entries.push(entry);
    this.size += entry.size;
  }

  /** Takes one out of the queue, and tells whether it was in there. */
  remove(entry: PendingCreate): boolean {
    const index = this.entries.indexOf(entry);
    if (index === -1) return false;
    this.entries.splice(index, 1);
    this.size -= entry.size;
    return true;
  }

  /** Takes as many of the first ones as one statement takes. */
  takeBatch(): PendingCreate[] {
    let count = 0;
    let size = 0;
    for (const entry of this.entries) {
      if (count === MOST_PLANTS || (count > 0 && size + entry.size > MOST_CHARACTERS)) break;
      count += 1;
      size += entry.size;
    }
    this.size -= size;
    return this.entries.splice(0, count);
  }
}
