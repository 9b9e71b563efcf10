import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsIn, type ValidationArguments } from 'class-validator';

import { quote } from '../errors/quote.js';

/** One word of a few, in any case of letters. Each spelling stands beside the value that it means. */
export function Choice(choices: readonly (readonly [spelling: string, value: unknown])[]): PropertyDecorator {
  const values = new Map<unknown, unknown>(choices);
  const spellings = [...values.keys()].join(', ');
  return applyDecorators(
    Transform(({ value }) => {
      const spelling = (value as string).toLowerCase();
      return values.has(spelling) ? values.get(spelling) : (value as unknown);
    }),
    IsIn([...values.values()], {
      message: ({ value }: ValidationArguments) => `is ${quote(value)}, should be one of ${spellings}`,
    }),
  );
}
