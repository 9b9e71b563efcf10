import { Migrator } from '../database/migrations/migrator.js';
import { migrationOptions } from './migrate.js';
import { quoteArgument, UsageError } from './parser.js';

/** More shards than any cluster has use for: each is a table, and a connection of a statement over all of them. */
const MAX_SHARDS = 1024;

interface DistributeOptions {
  readonly schema?: string;
  readonly shards?: string;
}

/** `plant-store distribute`: spreads the tables over the nodes of a Citus cluster. It may run many times. */
export async function distribute({ schema, shards }: DistributeOptions): Promise<void> {
  if (shards !== undefined && (!/^[1-9]\d*$/.test(shards) || Number(shards) > MAX_SHARDS))
    throw new UsageError(`--shards is ${quoteArgument(shards)}, should be a number from 1 to ${MAX_SHARDS}`);
  const migrator = new Migrator(migrationOptions(schema));
  const done = await migrator.distribute(shards === undefined ? undefined : Number(shards));
  console.log(`${migrator.place}: ${done.length > 0 ? done.join(', ') : 'distributed already'}`);
}
