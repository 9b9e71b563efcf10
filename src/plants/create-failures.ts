import { Injectable } from '@nestjs/common';
import { sqlStateOf } from '../database/database.errors.js';
import { Database } from '../database/database.js';
import { quote } from '../util/text.js';
import { ExistingPlantLookupError, PlantSkippedError } from './plants.errors.js';
import { PlantsStatistics } from './plants-statistics.js';

/** Failures with one SQLSTATE, and no plant created between them, from which on the table is suspected. */
const MIN_SUSPICIOUS_FAILURES = 5;
/** SQLSTATEs that are counted: a trigger may make up any number of them. */
const MAX_STATES = 100;
const READ_TRIGGERS_EVERY_MS = 60_000;

/** Bits of `tgtype`. */
const ROW_BEFORE_INSERT = 1 + 2 + 4;
/** A partition may have triggers of its own. They are read without a lock on the table. */
const FIND_TRIGGERS = `
  WITH RECURSIVE part(oid) AS (
    SELECT pg_class.oid FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = $1::name AND relname = 'plants'::name
    UNION ALL
    SELECT inhrelid FROM pg_catalog.pg_inherits JOIN part ON inhparent = part.oid)
  SELECT DISTINCT tgname::text AS name FROM pg_catalog.pg_trigger JOIN part ON tgrelid = part.oid
  WHERE NOT tgisinternal AND tgenabled <> 'D'::"char" AND tgtype & ${ROW_BEFORE_INSERT}::int2 = ${ROW_BEFORE_INSERT}::int2`;

/** What others have made of the table, so that creates fail which are without a fault of their own. */
@Injectable()
export class CreateFailures {
  /** Names of the triggers that may leave a plant out without an error. */
  triggers: readonly string[] = [];
  private readAt = -Infinity;
  /** By SQLSTATE, since a plant was created. */
  private readonly counts = new Map<string, number>();
  /** Plants that were created before the failures that are counted. */
  private created = 0;

  constructor(
    private readonly database: Database,
    private readonly statistics: PlantsStatistics,
  ) {}

  /** Whether creates fail again and again, and none succeeds: perhaps all do, perhaps those of one client. */
  get isTableSuspected(): boolean {
    return this.created === this.statistics.created && Math.max(...this.counts.values()) >= MIN_SUSPICIOUS_FAILURES;
  }

  /** Counts a create that failed for a reason that will not pass. */
  count(failure: unknown): void {
    if (this.created !== this.statistics.created || this.counts.size === MAX_STATES) this.forget();
    const state = sqlStateOf(failure) ?? '';
    this.counts.set(state, (this.counts.get(state) ?? 0) + 1);
  }

  /** An ordinary plant can be created. */
  forget(): void {
    this.counts.clear();
    this.created = this.statistics.created;
  }

  /** Why an insert has stored nothing, where no plant has the id. */
  async explainMissing(): Promise<Error> {
    if (this.triggers.length === 0) await this.readTriggers();
    if (this.triggers.length > 0) return new PlantSkippedError(this.triggers);
    return new ExistingPlantLookupError('the plant that had the id is gone');
  }

  /** At most once a minute. */
  async refreshTriggers(): Promise<void> {
    if (performance.now() - this.readAt >= READ_TRIGGERS_EVERY_MS) await this.readTriggers();
  }

  /** What was read before stays where this fails: every other statement fails then too. */
  private async readTriggers(): Promise<void> {
    const rows = await this.database
      .query<{ name: string }>(FIND_TRIGGERS, [this.database.schema])
      .catch(() => undefined);
    if (!rows) return;
    this.readAt = performance.now();
    this.triggers = rows.map(({ name }) => quote(name));
  }
}
