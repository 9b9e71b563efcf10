import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { type DatabaseHost, type DatabaseUrl, nameOfHost } from './database-url.js';
import { READ_ONLY, sqlStateOf } from './database.errors.js';

/** Limit of the connection to a host and of its answer, each. Another host may have become the primary meanwhile. */
const ASK_TIMEOUT_MS = 1000;
/** From a search in vain to the next search. */
const SEARCH_EVERY_MS = 100;
/** When a host can be used, those before it in the list have this time to answer as well. */
const ORDER_MS = 100;
/** A connection on which a statement waits is silent if nothing arrived for this time. */
const SILENCE_MS = 200;
/** Limit of the answer of a host whose connections are silent. */
const DOUBT_MS = 500;
/** SQLSTATE of PgBouncer where it has no connection to its server. */
const NO_SERVER = '08P01';

const FIND_STATE = `SELECT pg_catalog.pg_is_in_recovery() AS "isStandby",
  pg_catalog.current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

/** What pg's types leave out of a client. Its options do not serve: a pool makes a client before a host is chosen. */
type Internals = Readonly<{
  connectionParameters: object;
  connection: { stream: Socket };
  /** The process of the server that works for it. */
  processID: number;
  /** Undefined before the first time. */
  readyForQuery?: boolean;
}>;

export function internalsOf(client: pg.ClientBase): Internals {
  return client as unknown as Internals;
}

/** Ends a connection at once, in the midst of a statement too: pg has no way to. Its pool then removes it. */
export function giveUp(client: pg.ClientBase, reason = 'the connection was given up'): void {
  internalsOf(client).connection.stream.destroy(new Error(reason));
}

/** A lost connection also fails what waits for it; without a listener, the event would end the process. */
export function ignoreErrors<Client extends pg.ClientBase>(client: Client): Client {
  return client.on('error', ignore);
}

/** The class of pg for connections to a database: pg's own where the URL has one host and no `target_session_attrs`. */
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

/**
 * The hosts of a database. For each new connection all hosts are asked at the same time, and pg connects to one of them. A silent host
 * does not delay the connection, and no old answer can mislead.
 */
class HostList {
  private search: Promise<DatabaseHost> | undefined;
  /** By the socket below TLS. */
  private readonly open = new Map<Socket, DatabaseHost>();
  private readonly doubted = new Set<DatabaseHost>();

  constructor(private readonly database: DatabaseUrl) {}

  async connect(client: pg.Client, connectTo: () => Promise<pg.Client>): Promise<pg.Client> {
    const { stream } = internalsOf(ignoreErrors(client)).connection;
    // A pool gives up a client in this way.
    const givenUp = new Promise<never>((_, reject) => {
      stream.on('error', ignore).once('close', () => {
        reject(new Error('the connection was given up'));
      });
    });
    givenUp.catch(ignore);
    const host = await Promise.race([this.find(), givenUp]);
    leadTo(client, host);
    this.open.set(stream, host);
    let heard = -1;
    const inspect = (): void => {
      if (internalsOf(client).readyForQuery !== true && stream.bytesRead === heard) void this.doubt(host);
      heard = stream.bytesRead;
    };
    const timer = this.database.hosts.length > 1 ? setInterval(inspect, SILENCE_MS).unref() : undefined;
    stream.once('close', () => {
      clearInterval(timer);
      this.open.delete(stream);
    });
    return connectTo();
  }

  /** The first host that can be used. All connections that are made at the same time share one search. */
  private find(): Promise<DatabaseHost> {
    if (this.search) return this.search;
    this.search = this.askAll();
    const forget = (): void => (this.search = undefined);
    this.search.then(forget, () => setTimeout(forget, SEARCH_EVERY_MS).unref());
    return this.search;
  }

  private async askAll(): Promise<DatabaseHost> {
    const { hosts } = this.database;
    const usable = new Set<DatabaseHost>();
    const answers = hosts.map(async (host) => {
      usable.add(await this.ask(host));
      return host;
    });
    const fastest = await Promise.any(answers).catch((error: unknown) => {
      throw noHostError(hosts, (error as AggregateError).errors);
    });
    const before = answers.slice(0, hosts.indexOf(fastest));
    await Promise.race([Promise.allSettled(before), sleep(ORDER_MS, undefined, { ref: false })]);
    return hosts.find((host) => usable.has(host)) ?? fastest;
  }

  /** Rejects where the host cannot be used. */
  private async ask(host: DatabaseHost, timeout = ASK_TIMEOUT_MS): Promise<DatabaseHost> {
    const { connectionString, target } = this.database;
    const limits = { connectionTimeoutMillis: timeout, query_timeout: timeout };
    const client = leadTo(new pg.Client({ connectionString, application_name: 'plant-store-search', ...limits }), host);
    ignoreErrors(client);
    try {
      await client.connect();
      if (target === 'any') return host;
      const [state] = (await client.query<{ isStandby: boolean; isReadOnly: boolean }>(FIND_STATE)).rows;
      if (!state?.isStandby && !(state?.isReadOnly && target === 'read-write')) return host;
      const why = `accepts no writes: it is ${state.isStandby ? 'a standby' : 'read-only'}`;
      // Reported as the same failure of a statement is.
      throw Object.assign(new Error(why), { code: READ_ONLY });
    } finally {
      // The host may fall silent now.
      internalsOf(client).connection.stream.unref();
      void client.end();
    }
  }

  /** Gives up all connections to a host that does not answer, if another one can be used. A long statement alone is no reason. */
  private async doubt(host: DatabaseHost): Promise<void> {
    if (this.doubted.has(host)) return;
    this.doubted.add(host);
    // With "too many clients", for example, a host answers that works.
    const lives = await this.ask(host, DOUBT_MS).then(
      () => true,
      (error: unknown) => ![undefined, READ_ONLY, NO_SERVER].includes(sqlStateOf(error)),
    );
    const others = this.database.hosts.filter((other) => other !== host);
    if (lives) await sleep(ASK_TIMEOUT_MS, undefined, { ref: false });
    else if (await Promise.any(others.map((other) => this.ask(other))).catch(ignore)) {
      const reason = new Error('the host does not answer, and another one is used');
      for (const [stream, its] of this.open) if (its === host) stream.destroy(reason);
    }
    this.doubted.delete(host);
  }
}

function noHostError(hosts: readonly DatabaseHost[], failures: readonly unknown[]): Error {
  const reasons = hosts.map((host, index) => `${nameOfHost(host)}: ${reasonOf(failures[index])}`);
  const refusals = failures.filter((failure) => sqlStateOf(failure) !== undefined);
  // The refusal of a primary says more than that of its standby.
  const cause = refusals.find((failure) => sqlStateOf(failure) !== READ_ONLY) ?? refusals[0];
  return new Error(reasons.join('; '), { cause });
}

function leadTo(client: pg.Client, { host, port }: DatabaseHost): pg.Client {
  // pg searches the password file for them.
  Object.assign(internalsOf(client).connectionParameters, { host, port });
  return Object.assign(client, { host, port });
}

function ignore(): void {
  // It is reported elsewhere.
}
