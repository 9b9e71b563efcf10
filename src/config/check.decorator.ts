import { ValidateBy, type ValidationArguments } from 'class-validator';

import type { Environment } from '../app/config.js';

/** Says what is wrong with a value and what would be right, or nothing. */
type FindFault = (value: unknown, environment: Environment) => string | undefined;

/** A validation whose message depends on what is wrong. */
export function Check(name: string, findFault: FindFault): PropertyDecorator {
  const fault = (args?: ValidationArguments) => args && findFault(args.value, args.object as Environment);
  return ValidateBy({
    name,
    validator: {
      validate: (_value, args) => fault(args) === undefined,
      defaultMessage: (args) => fault(args) ?? '',
    },
  });
}
