import { setTimeout as sleep } from 'node:timers/promises';
import { postHead, RawConnection, type RawResponse } from './request.js';

/** No request may wait longer: three times what the service gives the database. */
const PATIENCE_MS = 15_000;
/** A client waits after a failure, but not as long as it would be asked to: recovery is measured with it. */
const PAUSE_MS = 10;

/** What came of a request: 200, the number of an error, or no answer before the connection or the time ended. */
type Outcome = number | 'no answer' | 'no answer in time';

/** A plant and the answers to its requests. No other plant has its name, so a stored plant shows whose it is. */
interface SentPlant {
  readonly id: number;
  readonly name: string;
  readonly tag: string | null;
  readonly key: string | null;
  readonly outcomes: Outcome[];
}

type StoredPlant = Readonly<{ id: string; name: string; tag: string | null; key: string | null }>;
const STORED_PLANTS = 'SELECT id::text, name, tag, idempotency_key AS key FROM plants WHERE id > 0';

/** The table compared with the answers. */
export interface Comparison {
  readonly acknowledged: number;
  /** Answered with 200, and not in the table. */
  readonly lost: number;
  /** Answered that it was not created, and in the table; or in the table, and not as any request had it. */
  readonly storedThoughRefused: number;
  readonly unknownStored: number;
  readonly unknownNotStored: number;
}

const isTaken = (outcome: Outcome): boolean => outcome === 40901 || outcome === 40902;
const isUnknown = (outcome: Outcome): boolean => typeof outcome === 'string' || [50400, 50000].includes(outcome);
const isRefused = (outcome: Outcome): boolean => outcome !== 200 && !isUnknown(outcome);
const outcomeOf = ({ status, body }: RawResponse): number =>
  status === 200 ? 200 : (JSON.parse(body) as { error: number }).error;

/** Clients that create plants on connections that they keep, each one after the other, and write down every answer. */
export class Load implements AsyncDisposable {
  /** When each 200 arrived. */
  readonly created: number[] = [];
  /** What came of each request and each connection that ended in nothing else than a plant or a taken id. */
  readonly failures: (Outcome | 'connection refused')[] = [];
  private readonly plants: SentPlant[] = [];
  /** With an idempotency key, and just created or of unknown outcome: sent again unchanged. */
  private readonly repetitions: SentPlant[] = [];
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

  /** Resolves when all requests in flight are answered or lost. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async compareWith(database: { query<Row>(sql: string): Promise<Row[]> }): Promise<Comparison> {
    const stored = await database.query<StoredPlant>(STORED_PLANTS);
    const rows = new Map(stored.filter(({ id }) => this.takes(Number(id))).map((row) => [Number(row.id), row]));
    const count = { acknowledged: 0, lost: 0, storedThoughRefused: rows.size, unknownStored: 0, unknownNotStored: 0 };
    for (const plant of this.plants) {
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
    return count;
  }

  private async runClient(): Promise<void> {
    while (!this.stopping) {
      try {
        using connection = await RawConnection.open(this.port);
        connection.socket.setTimeout(PATIENCE_MS, () => connection.socket.destroy());
        while (await this.create(connection));
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        this.failures.push(code === 'ECONNREFUSED' ? 'connection refused' : 'no answer');
        await sleep(PAUSE_MS);
      }
    }
  }

  /** Whether the connection can be used again, and is to be. */
  private async create(connection: RawConnection): Promise<boolean> {
    const plant = this.repetitions.pop() ?? this.nextPlant();
    const { id, name, tag, key } = plant;
    const body = JSON.stringify({ id, name, ...(tag !== null && { tag }) });
    const sentAt = performance.now();
    connection.send(postHead('', body, { 'Idempotency-Key': key ?? undefined }), body);
    const response = await connection.response().catch(() => undefined);
    const lost = performance.now() - sentAt < PATIENCE_MS - 1000 ? 'no answer' : 'no answer in time';
    const outcome = response ? outcomeOf(response) : lost;
    plant.outcomes.push(outcome);

    const isNew = outcome === 200 && plant.outcomes.length === 1;
    if (key !== null && (isUnknown(outcome) || isNew)) this.repetitions.push(plant);
    if (outcome === 200) {
      this.created.push(performance.now());
    } else if (!isTaken(outcome)) {
      this.failures.push(outcome);
      await sleep(PAUSE_MS);
    }
    return response !== undefined && response.headers.connection !== 'close' && !this.stopping;
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
