import { Inject, Injectable, Logger } from '@nestjs/common';
import { Database } from '../database/database.js';
import { loadCitus } from '../database/load-citus.js';
import { assertReadyForCreates } from '../database/migrations/migrator.js';
import { reasonOf } from '../util/text.js';
import { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import { PlantStatements } from './plant-sql.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants.options.js';

/** Pause between two attempts to learn whether the table is distributed. */
const RETRY_MS = 60_000;

/** Checks at the start that plants can be created, and attaches the parts that are in use to the creates. The others are not loaded. */
@Injectable()
export class PlantsStart {
  private readonly logger = new Logger(PlantsStart.name);

  constructor(
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: Pick<PlantsModuleSettings, 'database'>,
    private readonly database: Database,
    private readonly statements: PlantStatements,
    private readonly lanes: Lanes,
    private readonly failures: CreateFailures,
  ) {}

  async run(): Promise<void> {
    await assertReadyForCreates(this.database, this.settings.database);
    await Promise.all([this.attachCitus(), this.failures.readTriggers()]);
  }

  /** No start fails for it: if there is no connection now, readiness says so. Until it is known, creates go the ordinary way. */
  async attachCitus(): Promise<void> {
    const { database, statements, lanes } = this;
    try {
      const citus = await loadCitus(database.query, database.schema);
      await citus?.spread(lanes, database, statements);
    } catch (error) {
      this.logger.warn(`Whether the table plants is distributed is not known: ${reasonOf(error)}`);
      const timer = setTimeout(() => void this.attachCitus(), RETRY_MS).unref();
      lanes.end = () => {
        clearTimeout(timer);
      };
    }
  }
}
