import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';
import { loadCitus } from '../database/load-citus.js';
import { assertReadyForCreates } from '../database/migrations/migrator.js';
import { BatchWriter } from './batch-writer.js';
import { CreateFailures } from './create-failures.js';
import { Lanes } from './lanes.js';
import { PlantStatements } from './plant-sql.js';
import { PLANTS_MODULE_SETTINGS, type PlantsModuleSettings } from './plants.options.js';

/** Where every copy of OpenTelemetry's API in a process keeps what an SDK has registered. */
const TRACING_REGISTRY = Symbol.for('opentelemetry.js.api.1');

/** Checks at the start that plants can be created, and attaches to the creates what is in use. What is not is not loaded either. */
@Injectable()
export class PlantsStart {
  constructor(
    @Inject(PLANTS_MODULE_SETTINGS) private readonly settings: Pick<PlantsModuleSettings, 'database'>,
    private readonly database: Database,
    private readonly writer: BatchWriter,
    private readonly statements: PlantStatements,
    private readonly lanes: Lanes,
    private readonly failures: CreateFailures,
  ) {}

  async run(): Promise<void> {
    const { database, writer, statements, lanes } = this;
    await assertReadyForCreates(database, this.settings.database);
    const [citus] = await Promise.all([loadCitus(database.query, database.schema), this.failures.readTriggers()]);
    await citus?.spread(lanes, database, statements);
    const { trace } = Object((globalThis as { [TRACING_REGISTRY]?: unknown })[TRACING_REGISTRY]) as { trace?: unknown };
    // OpenTelemetry's API is an optional peer: where it is missing, nothing is traced.
    const tracing = trace ? await import('../tracing/statement-spans.js').catch(() => undefined) : undefined;
    tracing?.traceStatements(writer, statements);
  }
}
