import { Transform } from 'class-transformer';

/** Texts, separated by commas. */
export function TextList(): PropertyDecorator {
  return Transform(({ value }) => splitList(value as string));
}

/** The texts that commas separate, without white space around them. */
export function splitList(list: string): string[] {
  return list
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}
