import { isString } from 'class-validator';
import { type Given, Milliseconds, OptionsError, Rule, Should } from '../../util/options.js';
import { DatabaseAddress, schemaFault } from '../database.options.js';

/** A `Migrator` that can't work as it was called. The message has a line for each fault: the option, and what would be right. */
export class MigratorOptionsError extends OptionsError {
  override readonly name = 'MigratorOptionsError';

  constructor(faults: readonly string[]) {
    super('Migrator', faults);
  }
}

export class MigratorSettings extends DatabaseAddress {
  /**
   * The schema to migrate; the URL's `schema`, or else `public`, unless given. If the URL names a different one, this one
   * counts, as `--schema` does on the command line; PlantsModule refuses two that differ.
   */
  @Rule(schemaFault)
  schema?: string | undefined;
  /** Milliseconds to wait for other processes that migrate the same schema, a day at most; 60000 unless given. */
  @Milliseconds()
  timeout = 60_000;
  /** Milliseconds to try again for a table that others use, two seconds at a time, a day at most; 60000 unless given. */
  @Milliseconds(0)
  lockWait = 60_000;
  /** The role of the service, if another one migrates: it gets the rights that the service and `plant-store token` need. */
  @Should('the name of a role', isString)
  grantTo?: string | undefined;
  /** Other roles that may own the tables, and functions that they call, in addition to those that are trusted anyway. */
  @Should('an array of names of roles', (list) => Array.isArray(list) && list.every(isString))
  trustOwners: string[] = [];
  /** Of no effect: taken so that the options of a store's `{ url }` database can be given as they are. */
  size?: number | undefined;
}

/** Which database to migrate, and how. */
export type MigratorOptions = Given<MigratorSettings, 'url'>;
