import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { withinTime } from '../util/timing.js';
import { type DatabaseHost, type DatabaseUrl, nameOfHost } from './database-url.js';
import { READ_ONLY, sqlStateOf } from './database.errors.js';

/** Limit of a search. */
const SEARCH_TIMEOUT_MS = 5000;
/** From an answer of a host to the next question, while the search goes on, and from a search in vain to the next. */
const ASK_EVERY_MS = 100;
/** A host is not waited for any longer when one behind it in the list has answered. */
const ORDER_MS = 100;
/** A connection on which a statement waits is silent if nothing arrived for this time. */
const SILENCE_MS = 200;
/** Limit of the answer of a host whose connections are silent, where another host could be used. */
const DOUBT_MS = 300;

const FIND_STATE = `SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

/** What pg's types leave out of a client. */
type Internals = Readonly<{
  connectionParameters: object;
  connection: { stream: Duplex & { bytesRead: number } };
  /** Undefined before the first time. */
  readyForQuery?: boolean;
}>;
const internals = (client: pg.Client): Internals => client as unknown as Internals;

/** The class of pg for connections to a database: its own, where there is one host and nothing is asked of it. */
export function clientOf(database: DatabaseUrl): typeof pg.Client {
  if (database.hosts.length === 1 && database.target === 'any') return pg.Client;
  const list = new HostList(database);
  return class extends pg.Client {
    // One for both of pg's signatures; a pool calls it with a callback.
    override connect(callback?: unknown): never {
      const connected = list.connect(this, () => super.connect());
      const report = callback as ((error: unknown, client?: pg.Client) => void) | undefined;
      if (report)
        connected.then((client) => {
          report(null, client);
        }, report);
      return connected as never;
    }
  };
}

interface OpenClient {
  readonly client: pg.Client;
  readonly host: DatabaseHost;
  /** Bytes. */
  heard: number;
}

/**
 * The hosts of a database, of which pg takes one for a connection. Each new connection has all of them asked, at once: none that is
 * silent delays it, and nothing that was true before has to be known.
 */
class HostList {
  private search: Promise<DatabaseHost> | undefined;
  private readonly open = new Set<OpenClient>();
  private readonly doubted = new Set<DatabaseHost>();
  private isInspecting = false;

  constructor(private readonly database: DatabaseUrl) {}

  async connect(client: pg.Client, connectTo: () => Promise<pg.Client>): Promise<pg.Client> {
    client.on('error', ignore);
    const { stream } = internals(client).connection;
    // A pool gives up a client in this way.
    const givenUp = new Promise<never>((_, reject) => {
      stream.on('error', ignore).once('close', () => {
        reject(new Error('the connection was given up'));
      });
    });
    givenUp.catch(ignore);
    const host = await Promise.race([this.find(), givenUp]);
    const opened = { client: leadTo(client, host), host, heard: -1 };
    this.open.add(opened);
    client.once('end', () => this.open.delete(opened));
    void this.inspect();
    return connectTo();
  }

  /** The first host that can be used. One search is for all who want one now. */
  private find(): Promise<DatabaseHost> {
    if (this.search) return this.search;
    this.search = this.askAll();
    const forget = (): void => (this.search = undefined);
    this.search.then(forget, () => setTimeout(forget, ASK_EVERY_MS).unref());
    return this.search;
  }

  private async askAll(): Promise<DatabaseHost> {
    const { hosts } = this.database;
    /** The last answer of each: undefined where it can be used. */
    const failures = new Map<DatabaseHost, unknown>();
    const isUsable = (host: DatabaseHost): boolean => failures.has(host) && failures.get(host) === undefined;
    const asked = new Set<pg.Client>();
    let isOver = false;
    const search = new Promise<DatabaseHost>((resolve, reject) => {
      const decide = (isLate: boolean): void => {
        const first = hosts.find((host) => isUsable(host) || (!isLate && !failures.has(host)));
        if (first && isUsable(first)) resolve(first);
        else if (hosts.some(isUsable)) setTimeout(decide, ORDER_MS, true);
        else if (failures.size === hosts.length) reject(noHostError(hosts, failures));
      };
      const askOn = async (host: DatabaseHost): Promise<void> => {
        while (!isOver) {
          failures.set(host, await this.ask(host, asked).catch((error: unknown) => error));
          decide(false);
          await sleep(ASK_EVERY_MS, undefined, { ref: false });
        }
      };
      for (const host of hosts) void askOn(host);
    });
    try {
      return await withinTime(search, SEARCH_TIMEOUT_MS, () => noHostError(hosts, failures));
    } finally {
      isOver = true;
      asked.forEach(destroy);
    }
  }

  /** Rejects where the host cannot be used. */
  private async ask(host: DatabaseHost, asked: Set<pg.Client>): Promise<void> {
    const { connectionString, target } = this.database;
    const client = leadTo(new pg.Client({ connectionString, application_name: 'plant-store-search' }), host);
    client.on('error', ignore);
    asked.add(client);
    try {
      await client.connect();
      if (target === 'any') return;
      const [state] = (await client.query<{ isStandby: boolean; isReadOnly: boolean }>(FIND_STATE)).rows;
      if (!state?.isStandby && !(state?.isReadOnly && target === 'read-write')) return;
      const why = `accepts no writes: it is ${state.isStandby ? 'a standby' : 'read-only'}`;
      // Reported as the same failure of a statement is.
      throw Object.assign(new Error(why), { code: READ_ONLY });
    } finally {
      asked.delete(client);
      void client.end();
    }
  }

  /** Until the last connection is closed. */
  private async inspect(): Promise<void> {
    if (this.isInspecting) return;
    this.isInspecting = true;
    while (this.open.size > 0) {
      for (const each of this.open) {
        const { connection, readyForQuery } = internals(each.client);
        const { bytesRead } = connection.stream;
        if (readyForQuery !== true && bytesRead === each.heard) void this.doubt(each.host);
        each.heard = bytesRead;
      }
      await sleep(SILENCE_MS, undefined, { ref: false });
    }
    this.isInspecting = false;
  }

  /** Gives up all connections to a host that does not answer, if another one can be used. A long statement alone is no reason. */
  private async doubt(host: DatabaseHost): Promise<void> {
    if (this.doubted.has(host)) return;
    this.doubted.add(host);
    const asked = new Set<pg.Client>();
    const answer = withinTime(this.ask(host, asked), DOUBT_MS, () => new Error('no answer')).then(
      () => true,
      () => false,
    );
    const found = await this.find().catch(() => host);
    if (found !== host && !(await answer)) {
      for (const { client, host: its } of this.open) if (its === host) destroy(client);
    }
    asked.forEach(destroy);
    this.doubted.delete(host);
  }
}

function noHostError(hosts: readonly DatabaseHost[], failures: ReadonlyMap<DatabaseHost, unknown>): Error {
  const late = new Error(`no answer in ${SEARCH_TIMEOUT_MS} ms`);
  const reasons = hosts.map((host) => `${nameOfHost(host)}: ${reasonOf(failures.get(host) ?? late)}`);
  // A primary that refuses is the trouble, and not its standby.
  const refusals = [...failures.values()].filter((failure) => sqlStateOf(failure) !== undefined);
  const cause = refusals.find((failure) => sqlStateOf(failure) !== READ_ONLY) ?? refusals[0];
  return new Error(reasons.join('; '), { cause });
}

function leadTo(client: pg.Client, { host, port }: DatabaseHost): pg.Client {
  // The password file is searched by them.
  Object.assign(internals(client).connectionParameters, { host, port });
  return Object.assign(client, { host, port });
}

function destroy(client: pg.Client): void {
  internals(client).connection.stream.destroy(new Error('the host does not answer, and another one is used'));
}

function ignore(): void {
  // A lost connection also fails what waits for it.
}
