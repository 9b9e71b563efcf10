import { isStorableText } from './dto/storable-text.js';

/** Who creates a plant. */
export interface Creator {
  /** Stands with the plant, as `created_by`, and in the log: 1 to 255 characters that PostgreSQL can store. */
  readonly name: string;
  /** What metrics count the plant under, where there may be any number of names; the name unless given. */
  readonly metricLabel?: string;
}

const MAX_LENGTH = 255;

/** @throws TypeError where nobody has such a name; the application may say anything */
export function assertCreator(creator: unknown): asserts creator is Creator {
  const { name } = Object(creator) as Record<string, unknown>;
  if (isStorableText(name) && name.length > 0 && name.length <= MAX_LENGTH) return;
  throw new TypeError(
    `the name of a plant's creator cannot be stored: a TokenVerifier, or createdBy of the options, has to tell one of ` +
      `1 to ${MAX_LENGTH} characters without U+0000 and lone surrogates`,
  );
}
