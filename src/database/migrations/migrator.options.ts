import { isString } from 'class-validator';
import { type Given, Milliseconds, Rule, Should } from '../../util/options.js';
import { DatabaseAddress, schemaFault } from '../database.options.js';

export class MigratorSettings extends DatabaseAddress {
  /** The schema to migrate. It overrides that of the URL; PlantsModule refuses two that differ. @defaultValue the `schema` of the URL, or else `public` */
  @Rule(schemaFault)
  schema?: string | undefined;
  /** Milliseconds to wait for other processes that migrate the same schema, 1 to 86400000 (a day). @defaultValue 60000 */
  @Milliseconds()
  timeout = 60_000;
  /** Milliseconds to try again for a table that others use, two seconds at a time, 0 to 86400000 (a day). @defaultValue 60000 */
  @Milliseconds(0)
  lockWait = 60_000;
  /** Role of the service, if another role migrates: it gets the rights that the service and `plant-store token` need. @defaultValue none */
  @Should('the name of a role', isString)
  grantTo?: string | undefined;
  /** Other roles that may own the tables, and the functions that they call, as `--trust-owner`. @defaultValue [] */
  @Should('an array of names of roles', (list) => Array.isArray(list) && list.every(isString))
  trustOwners: string[] = [];
  /** Ignored, so that the options of a store's `{ url }` database can be passed as they are. @defaultValue none */
  size?: number | undefined;
}

/** The database to migrate, and how to wait. */
export type MigratorOptions = Given<MigratorSettings, 'url'>;
