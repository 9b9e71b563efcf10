import { Check } from './check.decorator.js';

/** Refuses to start in production without a value. `should` says what to set. */
export function RequiredInProduction(should: string): PropertyDecorator {
  return Check('requiredInProduction', (value, { production }) =>
    value === undefined && production ? `is missing, in production it should be ${should}` : undefined,
  );
}
