import { namesSchema, parseDatabaseUrl } from '../../database/database-url.js';
import { schemaFaults, urlFaults } from '../../database/url-faults.js';
import { DAY_MS, describeOption, numberFault, unknownNames } from '../../options/option-faults.js';
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
    ...(ofUrl.length + ofSchema.length > 0 ? [] : contradictions(options)),
    ...numberFault('issuedTokens.timeout', options.timeout, DAY_MS),
  ];
}

function contradictions({ url = '', schema }: Partial<IssuedTokensOptions>): string[] {
  if (schema === undefined || !namesSchema(url) || schema === parseDatabaseUrl(url).schema) return [];
  return ['issuedTokens.schema: is not the schema that issuedTokens.url names, should be given in one place only'];
}
