import { contradictingSchema, schemaFaults, urlFaults } from '../../database/database.options.js';
import { DAY_MS, describeOption, numberFault, unknownNames } from '../../util/options.js';
import type { IssuedTokensOptions } from './issued-tokens-options.js';

const NAMES = Object.keys({ url: true, password: true, schema: true, timeout: true } satisfies Record<
  keyof IssuedTokensOptions,
  true
>);

/** Everything that is wrong with the option `issuedTokens`, one line each. JavaScript has no types, so all is checked. */
export function issuedTokensFaults(given: unknown): string[] {
  if (given === undefined) return [];
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return [`issuedTokens: ${describeOption(given)}, should be { url }: the database that the tokens are in`];
  }
  const options = given as Record<string, unknown>;
  const ofUrl = urlFaults(options, 'issuedTokens.');
  const ofSchema = schemaFaults('issuedTokens.schema', options.schema);
  return [
    ...unknownNames(options, NAMES, 'issuedTokens.'),
    ...ofUrl,
    ...ofSchema,
    ...(ofUrl.length + ofSchema.length > 0 ? [] : contradictingSchema(options, 'issuedTokens.')),
    ...numberFault('issuedTokens.timeout', options.timeout, DAY_MS),
  ];
}
