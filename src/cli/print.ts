import { reasonOf } from '../util/text.js';
import { OutputError } from './output.error.js';

/** Writes to standard output. Rejects where that did not work, which console.log is silent about. */
export function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // Unheard, the event ends the process.
    process.stdout.once('error', reject);
    process.stdout.write(text, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

/** Prints what may be asked for again. A reader that has read enough, such as head, is no failure. @throws OutputError */
export async function print(text: string): Promise<void> {
  try {
    await write(`${text}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return;
    throw new OutputError(`standard output cannot be written to (${reasonOf(error)})`);
  }
}
