import { Migrator } from '../database/migrations/migrator.js';
import { migrationOptions } from './migrate.js';
import { quoteArgument, UsageError } from './parser.js';

interface DistributeOptions {
  readonly schema?: string;
  readonly shards?: string;
}

/** `plant-store distribute`: spreads the tables over the nodes of a Citus cluster. It may run many times. */
export async function distribute({ schema, shards }: DistributeOptions): Promise<void> {
  if (shards !== undefined && !/^[1-9]\d{0,2}$/.test(shards))
    throw new UsageError(`--shards is ${quoteArgument(shards)}, should be a number from 1 to 999`);
  const migrator = new Migrator(migrationOptions(schema));
  const done = await migrator.distribute(shards === undefined ? undefined : Number(shards));
  console.log(`${migrator.place}: ${done.length > 0 ? done.join(', ') : 'distributed already'}`);
}
