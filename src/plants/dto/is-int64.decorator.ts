import { ValidateBy } from 'class-validator';
import { JsonNumber, type JsonValue } from '../../http/json-value.js';
import { describeValue } from './describe-value.js';
import { INT64_MAX, INT64_MIN, isInt64 } from '../int64.js';

const ROUNDED =
  "id is a number that this application's own JSON parser may have rounded, so it is refused; " +
  'the application has to call exemptPlantsFromBodyParser(), or be created with `rawBody: true`';

/** Holds for an int64; whatever else is left in the property was no int64 on the wire. */
export function IsInt64(): PropertyDecorator {
  return ValidateBy({
    name: 'isInt64',
    validator: {
      validate: isInt64,
      defaultMessage: (args) => message(args?.value as JsonValue | undefined),
    },
  });
}

function message(value: JsonValue | undefined): string {
  if (value instanceof JsonNumber && !value.isExact) return ROUNDED;
  return `id ${describeValue(value)}; it must be an integer from ${INT64_MIN} to ${INT64_MAX}`;
}
