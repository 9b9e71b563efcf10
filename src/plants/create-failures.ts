import { Injectable } from '@nestjs/common';
import { sqlStateOf } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { quote } from '../util/text.js';
import { ExistingPlantLookupError, PlantSkippedError } from './plants.errors.js';
import { PlantsStatistics } from './plants-statistics.js';

/** After so many failures with one SQLSTATE, and no created plant between them, the table is suspected. */
const MIN_SUSPICIOUS_FAILURES = 5;
/** Row, BEFORE and INSERT are the last bits of `tgtype`. A partition may have triggers of its own. This waits for no lock on the table. */
const FIND_TRIGGERS = `
  WITH RECURSIVE part(oid) AS (
    SELECT pg_class.oid FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1::name AND relname = 'plants'::name
    UNION ALL SELECT inhrelid FROM pg_catalog.pg_inherits JOIN part ON inhparent = part.oid)
  SELECT DISTINCT tgname::text AS name FROM pg_catalog.pg_trigger JOIN part ON tgrelid = part.oid
  WHERE NOT tgisinternal AND tgenabled <> 'D'::"char" AND tgtype & 7::int2 = 7::int2`;

/** Changes of the table by others that make valid creates fail. */
@Injectable()
export class CreateFailures {
  /** Names of the triggers that may leave a plant out without an error. */
  triggers: readonly string[] = [];
  /** By SQLSTATE, since `created` plants were created. */
  private readonly counts = new Map<string | undefined, number>();
  private created = 0;

  constructor(
    private readonly database: Database,
    private readonly statistics: PlantsStatistics,
  ) {}

  /** Whether creates fail again and again without a success between: perhaps all fail, perhaps those of one client. */
  get isTableSuspected(): boolean {
    return this.created === this.statistics.created && Math.max(...this.counts.values()) >= MIN_SUSPICIOUS_FAILURES;
  }

  /** Counts a create that failed for a reason that will not pass. */
  count(failure: unknown): void {
    if (this.created !== this.statistics.created) this.forget();
    const state = sqlStateOf(failure);
    this.counts.set(state, (this.counts.get(state) ?? 0) + 1);
  }

  /** An ordinary plant can be created. */
  forget(): void {
    this.counts.clear();
    this.created = this.statistics.created;
  }

  /** Why an insert has stored nothing, if no plant has the id. */
  async explainMissing(): Promise<Error> {
    if (this.triggers.length === 0) await this.readTriggers();
    if (this.triggers.length > 0) return new PlantSkippedError(this.triggers);
    return new ExistingPlantLookupError('the plant that had the id is gone');
  }

  /** The names stay unchanged if this fails: every other statement fails then too. */
  async readTriggers(): Promise<void> {
    const { query, schema } = this.database;
    const rows = await query<{ name: string }>(FIND_TRIGGERS, [schema]).catch(() => undefined);
    if (rows) this.triggers = rows.map(({ name }) => quote(name));
  }
}
