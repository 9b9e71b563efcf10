import { DAY_MS, describeOption, numberFault, unknownNames } from '../options/option-faults.js';
import { contradictingSchema, schemaFaults, urlFaults } from './url-faults.js';

const SOURCES = ['url', 'pool', 'adapter'] as const;
const NAMES = [...SOURCES, 'password', 'schema', 'size', 'timeout'];
/** What contradicts a pool or an adapter, and where it belongs instead. */
const STRANGERS = {
  url: {},
  pool: { password: 'give it to the pool', size: 'the size of the pool counts' },
  adapter: {
    password: 'give it to the adapter',
    size: 'give it to the adapter',
    schema: 'give it to the adapter, as in new PrismaPg(…, { schema })',
  },
};
const LARGEST_SIZE = 1000;

/** Everything that is wrong with the option `database`, one line each. JavaScript has no types, so all is checked. */
export function databaseFaults(database: unknown): string[] {
  if (typeof database !== 'object' || database === null) {
    return [
      `database: ${describeOption(database)}, should be { url }, { pool } or { adapter }: where plants are stored`,
    ];
  }
  const options = database as Record<string, unknown>;
  const sources = SOURCES.filter((name) => options[name] !== undefined);
  return [
    ...unknownNames(options, NAMES, 'database.'),
    ...sourceFaults(options, sources),
    ...(sources.includes('url') ? ownFaults(options) : []),
    ...(sources.includes('pool') ? poolFaults(options.pool) : []),
    ...(sources.includes('adapter') ? adapterFaults(options.adapter) : []),
    ...schemaFaults('database.schema', options.schema),
    ...numberFault('database.size', options.size, LARGEST_SIZE),
    ...numberFault('database.timeout', options.timeout, DAY_MS),
  ];
}

function sourceFaults(options: Record<string, unknown>, sources: readonly (typeof SOURCES)[number][]): string[] {
  const [source, ...others] = sources;
  if (source === undefined || others.length > 0) {
    const has = sources.length === 0 ? 'none of url, pool and adapter' : sources.join(' and ');
    return [`database: has ${has}, should have exactly one of url, pool and adapter`];
  }
  return Object.entries(STRANGERS[source])
    .filter(([name]) => options[name] !== undefined)
    .map(([name, place]) => `database.${name}: does not go with ${source}, should be left out: ${place}`);
}

function ownFaults(options: Record<string, unknown>): string[] {
  const faults = urlFaults(options, 'database.');
  return faults.length > 0 ? faults : contradictingSchema(options, 'database.');
}

function poolFaults(pool: unknown): string[] {
  const { connect, provider } = Object(pool) as Record<string, unknown>;
  if (typeof connect === 'function' && provider === undefined) return [];
  return [
    `database.pool: ${describeOption(pool)} that is none, should be a Pool of pg; a driver adapter goes into adapter`,
  ];
}

function adapterFaults(adapter: unknown): string[] {
  const { connect, provider } = Object(adapter) as Record<string, unknown>;
  if (typeof connect === 'function' && provider === 'postgres') return [];
  const what = typeof provider === 'string' ? `is for ${provider}` : `${describeOption(adapter)} that is none`;
  return [
    `database.adapter: ${what}, should be a driver adapter of Prisma's for PostgreSQL, such as new PrismaPg(…); a pg pool goes into pool`,
  ];
}
