import { ValidateIf } from 'class-validator';

/** Lets a field be absent. class-validator's own `IsOptional` also lets it be null, which is no string. */
export function Optional(): PropertyDecorator {
  return ValidateIf((_object, value) => value !== undefined);
}
