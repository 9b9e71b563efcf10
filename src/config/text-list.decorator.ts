import { Transform } from 'class-transformer';

/** Texts, separated by commas. */
export function TextList(): PropertyDecorator {
  return Transform(({ value }) =>
    (value as string)
      .split(',')
      .map((text) => text.trim())
      .filter((text) => text !== ''),
  );
}
