import { setTimeout as sleep } from 'node:timers/promises';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';

/** No request may wait longer: three times what the service gives the database. */
const PATIENCE_MS = 15_000;
/** A client waits after a failure, but not as long as it would be asked to: recovery is measured with it. */
const PAUSE_MS = 10;

/** What came of a request: 200, the number of an error, or that no answer came, at the end of the connection or in time. */
type Outcome = number | 'no answer' | 'no answer in time';

/** A plant and all that its requests were answered. No other plant has its name, so that a stored plant shows whose it is. */
interface SentPlant {
  readonly id: number;
  readonly name: string;
  readonly tag: string | null;
  readonly key: string | null;
  readonly outcomes: Outcome[];
}

/** A row of the table. */
export type StoredPlant = Readonly<{ id: string; name: string; tag: string | null; key: string | null }>;
export const STORED_PLANTS = 'SELECT id::text, name, tag, idempotency_key AS key FROM plants WHERE id > 0';

/** The table compared with the answers. */
export interface Comparison {
  readonly acknowledged: number;
  /** Answered with 200, and not in the table. */
  readonly lost: number;
  /** Answered that it was not created, and in the table; or in the table, and not as any request had it. */
  readonly storedThoughRefused: number;
  readonly unknownStored: number;
  readonly unknownNotStored: number;
  /** How often each came. */
  readonly outcomes: ReadonlyMap<Outcome | 'connection refused', number>;
}

const isTaken = (outcome: Outcome): boolean => outcome === 40901 || outcome === 40902;
const isUnknown = (outcome: Outcome): boolean => typeof outcome === 'string' || [50400, 50000].includes(outcome);
const isRefused = (outcome: Outcome): boolean => outcome !== 200 && !isUnknown(outcome);

/** Clients that create plants on connections that they keep, each one after the other, and write down every answer. */
export class Load implements AsyncDisposable {
  private readonly plants: SentPlant[] = [];
  /** With an idempotency key, and just created or of unknown outcome: sent again unchanged. */
  private readonly repetitions: SentPlant[] = [];
  /** When each 200 arrived. */
  private readonly created: number[] = [];
  private refusedConnections = 0;
  private lastId = 0;
  private stopping = false;
  private readonly running: Promise<unknown>;

  /** @param takes whether it creates plants of this id */
  constructor(
    private readonly port: number,
    connections: number,
    private readonly takes: (id: number) => boolean = () => true,
  ) {
    this.running = Promise.all(Array.from({ length: connections }, () => this.runClient()));
  }

  get createdCount(): number {
    return this.created.length;
  }

  /** Resolves when all requests in flight are answered or lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The time of the first 200 that arrived after that time; undefined if none does for so long. */
  async firstCreated(after: number, timeout: number): Promise<number | undefined> {
    const deadline = performance.now() + timeout;
    for (;;) {
      const first = this.created.find((time) => time >= after);
      if (first !== undefined || performance.now() > deadline) return first;
      await sleep(5);
    }
  }

  compareWith(all: readonly StoredPlant[]): Comparison {
    const rows = new Map(all.filter(({ id }) => this.takes(Number(id))).map((row) => [Number(row.id), row]));
    const count = { acknowledged: 0, lost: 0, storedThoughRefused: rows.size, unknownStored: 0, unknownNotStored: 0 };
    const outcomes = new Map<Outcome | 'connection refused', number>();
    if (this.refusedConnections > 0) outcomes.set('connection refused', this.refusedConnections);
    for (const plant of this.plants) {
      for (const outcome of plant.outcomes) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      const row = rows.get(plant.id);
      const isStored = row?.name === plant.name && row.tag === plant.tag && row.key === plant.key;
      // Not even a repetition is to be refused for the plant that the first request has stored.
      if (isStored && !plant.outcomes.some(isTaken) && !plant.outcomes.every(isRefused)) count.storedThoughRefused -= 1;
      if (plant.outcomes.includes(200)) {
        count.acknowledged += 1;
        if (!isStored) count.lost += 1;
      } else if (plant.outcomes.some(isUnknown)) {
        if (isStored) count.unknownStored += 1;
        else count.unknownNotStored += 1;
      }
    }
    return { ...count, outcomes };
  }

  private async runClient(): Promise<void> {
    while (!this.stopping) {
      try {
        using connection = await RawConnection.open(this.port);
        while (await this.createOne(connection));
      } catch {
        this.refusedConnections += 1;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** Whether the connection can be used again, and is to be. */
  private async createOne(connection: RawConnection): Promise<boolean> {
    const plant = this.repetitions.pop() ?? this.nextPlant();
    const [outcome, isOpen] = await create(connection, plant);
    plant.outcomes.push(outcome);
    if (outcome === 200) this.created.push(performance.now());
    else if (outcome !== 40901) await sleep(PAUSE_MS);
    const isNew = outcome === 200 && plant.outcomes.length === 1;
    if (plant.key !== null && (isUnknown(outcome) || isNew)) this.repetitions.push(plant);
    return isOpen && !this.stopping;
  }

  private nextPlant(): SentPlant {
    const number = this.plants.length + 1;
    const before = this.plants.at(-1);
    do this.lastId += 1;
    while (!this.takes(this.lastId));
    const plant = {
      // Some ids are contested: another request has it, and is perhaps still in flight.
      id: number % 10 === 0 && before ? before.id : this.lastId,
      name: `Rose ${number} \u00e9\u{1f339} "\\\n`,
      tag: number % 3 === 0 ? null : `tag ${number}`,
      key: number % 4 === 0 ? `key-${number}` : null,
      outcomes: [],
    };
    this.plants.push(plant);
    return plant;
  }
}

/** Sends it, and says what came of it and whether the connection can be used again. */
async function create(connection: RawConnection, plant: SentPlant): Promise<[outcome: Outcome, isOpen: boolean]> {
  const { id, name, tag, key } = plant;
  let outcome: Outcome = 'no answer';
  const timer = setTimeout(() => {
    outcome = 'no answer in time';
    connection.close();
  }, PATIENCE_MS);
  try {
    const body = JSON.stringify({ id, name, ...(tag !== null && { tag }) });
    connection.send(postHead('', body, key === null ? {} : { 'Idempotency-Key': key }), body);
    const response = await connection.response();
    if (!response) return [outcome, false];
    outcome = response.status === 200 ? 200 : (JSON.parse(response.body) as { error: number }).error;
    return [outcome, response.headers.connection !== 'close'];
  } catch {
    return [outcome, false];
  } finally {
    clearTimeout(timer);
  }
}
