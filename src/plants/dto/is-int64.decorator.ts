import { ValidateBy } from 'class-validator';
import type { JsonValue } from '../../http/json-value.js';
import { describeValue } from './describe-value.js';
import { INT64_MAX, INT64_MIN } from './int64.js';

/** Holds for a bigint; whatever else is left in the property was no int64 on the wire. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: (value: unknown) => typeof value === 'bigint',
      defaultMessage: (args) =>
        `id ${describeValue(args?.value as JsonValue | undefined)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`,
    },
  });
}
