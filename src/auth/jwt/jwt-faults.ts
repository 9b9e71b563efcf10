import { describeOption } from '../../options/option-faults.js';

/** Everything that is wrong with the option `jwt`, one line each. */
export function jwtFaults(options: unknown): string[] {
  if (options === undefined) return [];
  if (typeof options === 'object' && options !== null) return [];
  return [`jwt: ${describeOption(options)}, should be { issuer, audience }: whose JWTs are access tokens`];
}
