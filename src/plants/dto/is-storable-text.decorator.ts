import { ValidateBy, type ValidationArguments } from 'class-validator';
import type { JsonValue } from '../../http/json-value.js';
import { describeValue } from './describe-value.js';
import { isStorableText } from './storable-text.js';

/** Holds for every string that PostgreSQL can store. */
export function IsStorableText(): PropertyDecorator {
  return ValidateBy({
    name: 'isStorableText',
    validator: {
      validate: isStorableText,
      defaultMessage: (args) => message(args),
    },
  });
}

function message(args?: ValidationArguments): string {
  const value = args?.value as JsonValue | undefined;
  const fault = typeof value === 'string' ? unstorable(value) : `${describeValue(value)}; it must be a string`;
  return `${args?.property ?? 'the field'} ${fault}`;
}

function unstorable(text: string): string {
  const found = text.isWellFormed() ? 'U+0000' : 'a lone surrogate (half a character)';
  return `contains ${found}, which PostgreSQL cannot store; it must be a string without it`;
}
