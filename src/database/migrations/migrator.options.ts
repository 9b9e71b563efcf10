import { OptionsError, DAY_MS, describeOption, givenOptions, numberFault, unknownNames } from '../../util/options.js';
import { schemaFaults, urlFaults } from '../database.options.js';

/** A `Migrator` that can't work as it was called. The message has a line for each fault: the option, and what would be right. */
export class MigratorOptionsError extends OptionsError {
  override readonly name = 'MigratorOptionsError';

  constructor(faults: readonly string[]) {
    super('Migrator', faults);
  }
}

/** Which database to migrate, and how. */
export interface MigratorOptions {
  /** PostgreSQL URL, `postgresql://user@host:5432/database`; `sslmode` and `schema` as parameters. */
  url: string;
  /** The password, as it is, where the URL has none; none unless given. */
  password?: string | undefined;
  /**
   * The schema to migrate; the URL's `schema`, or else `public`, unless given. Where the URL names a different one, this one
   * counts, as `--schema` does on the command line; PlantsModule refuses two that differ.
   */
  schema?: string | undefined;
  /** Milliseconds to wait for other processes that migrate the same schema, a day at most; 60000 unless given. */
  timeout?: number | undefined;
  /** Folder of the migrations; this package's own unless given. */
  folder?: string | undefined;
  /** Of no effect: taken so that the options of a store's `{ url }` database can be given as they are. */
  size?: number | undefined;
}

const NAMES = ['url', 'password', 'schema', 'timeout', 'folder', 'size'] satisfies (keyof MigratorOptions)[];

/** Throws a MigratorOptionsError that names every fault. JavaScript has no types, so all is checked. */
export function checkMigratorOptions(options: unknown): MigratorOptions {
  const given = givenOptions(options);
  const { schema, timeout, folder } = given;
  const faults = [
    ...unknownNames(given, NAMES),
    ...urlFaults(given),
    ...schemaFaults('schema', schema),
    ...numberFault('timeout', timeout, DAY_MS),
    ...(folder === undefined || typeof folder === 'string'
      ? []
      : [`folder: ${describeOption(folder)}, should be the path of a folder`]),
  ];
  if (faults.length > 0) throw new MigratorOptionsError(faults);
  return given as unknown as MigratorOptions;
}
