import { checkSchema, namesSchema, parseDatabaseUrl } from './database-url.js';
import { describeOption } from '../options/option-faults.js';
import { reasonOf } from '../util/text.js';

/** The faults of a database's URL, and of the password beside it. @param prefix stands before the options' names */
export function urlFaults({ url, password }: Record<string, unknown>, prefix = ''): string[] {
  if (typeof url !== 'string') return [`${prefix}url: ${describeOption(url)}, should be a PostgreSQL URL`];
  if (password !== undefined && typeof password !== 'string') {
    return [`${prefix}password: ${describeOption(password)}, should be a string`];
  }
  return faultsOf(`${prefix}url`, () => parseDatabaseUrl(url, password));
}

/** The faults of a schema's name, if there is one. */
export function schemaFaults(name: string, schema: unknown): string[] {
  if (schema === undefined) return [];
  if (typeof schema !== 'string') return [`${name}: ${describeOption(schema)}, should be the name of a schema`];
  return faultsOf(name, () => checkSchema(schema));
}

function faultsOf(name: string, check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [`${name}: ${reasonOf(error)}`];
  }
}

/** The fault of a schema beside a URL that names another; both have to be right by themselves. */
export function contradictingSchema(options: Record<string, unknown>, prefix: string): string[] {
  const { url, schema } = options as { url: string; schema?: unknown };
  if (schema === undefined || !namesSchema(url) || schema === parseDatabaseUrl(url).schema) return [];
  return [`${prefix}schema: is not the schema that ${prefix}url names, should be given in one place only`];
}
