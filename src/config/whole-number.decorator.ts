import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInt, Max, Min, type ValidationArguments } from 'class-validator';

import { quote } from '../errors/quote.js';

// Strict, because Number() also takes "1e3", "0x10" and "", and rounds beyond 15 digits.
const parse = (text: string) => (/^\d{1,15}$/.test(text) ? Number(text) : text);

/** A whole number in decimal digits, from `least` to `most`. */
export function WholeNumber(least: number, most: number, what = 'a whole number'): PropertyDecorator {
  const message = ({ value }: ValidationArguments) =>
    `is ${quote(value)}, should be ${what} from ${String(least)} to ${String(most)}`;
  return applyDecorators(
    Transform(({ value }) => parse(value as string)),
    IsInt({ message }),
    Min(least, { message }),
    Max(most, { message }),
  );
}
