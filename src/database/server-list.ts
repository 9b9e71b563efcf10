import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { reasonOf } from '../util/text.js';
import { type DatabaseServer, type DatabaseUrl, nameOfServer } from './database-url.js';
import { READ_ONLY, sqlStateOf } from './database.errors.js';
import { ignoreErrors, internalsOf } from './pg-client.js';

/** Limit of the connection to a server and of its answer, each. Another server may have become the primary meanwhile. */
const ASK_TIMEOUT_MS = 1000;
/** Pause after a search that has found no server. */
const SEARCH_EVERY_MS = 100;
/** When a server can be used, those before it in the list have this time to answer as well. */
const ORDER_MS = 100;
/** A connection on which a statement waits is silent if nothing arrived for this time. */
const SILENCE_MS = 200;
/** Time to answer for a server with silent connections. */
const DOUBT_MS = 500;
/** SQLSTATE of PgBouncer if it has no connection to its server. */
const NO_SERVER = '08P01';

const FIND_STATE = `SELECT pg_catalog.pg_is_in_recovery() AS "isStandby",
  pg_catalog.current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

/** The class of pg for connections to a database: pg's own if the URL has one server and no `target_session_attrs`. */
export function clientOf(database: DatabaseUrl): typeof pg.Client {
  const Client = authenticatedClientOf(database);
  if (database.servers.length === 1 && database.target === 'any') return Client;
  const list = new ServerList(database, Client);
  return class extends Client {
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

/** pg's own class, or one that asks for the password when it connects: a connection string would count before an option. */
function authenticatedClientOf({ readPassword }: DatabaseUrl): typeof pg.Client {
  if (readPassword === undefined) return pg.Client;
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      // Hidden, as pg has it: nothing prints it.
      Object.defineProperty(this, 'password', { value: readPassword, configurable: true, writable: true });
    }
  };
}

/**
 * The servers of a database. For each new connection all servers are asked at the same time, and pg connects to one of them. A silent server
 * does not delay the connection, and no old answer can mislead.
 */
class ServerList {
  private search: Promise<DatabaseServer> | undefined;
  /** By the socket below TLS. */
  private readonly open = new Map<Socket, DatabaseServer>();
  private readonly doubted = new Set<DatabaseServer>();

  /** @param Client asks the servers */
  constructor(
    private readonly database: DatabaseUrl,
    private readonly Client: typeof pg.Client,
  ) {}

  async connect(client: pg.Client, connectTo: () => Promise<pg.Client>): Promise<pg.Client> {
    const { stream } = internalsOf(ignoreErrors(client)).connection;
    // A pool gives up a client in this way.
    const givenUp = new Promise<never>((_, reject) => {
      stream.on('error', ignore).once('close', () => {
        reject(new Error('the connection was given up'));
      });
    });
    givenUp.catch(ignore);
    const server = await Promise.race([this.find(), givenUp]);
    leadTo(client, server);
    this.open.set(stream, server);
    let heard = -1;
    const inspect = (): void => {
      if (internalsOf(client).readyForQuery !== true && stream.bytesRead === heard) void this.doubt(server);
      heard = stream.bytesRead;
    };
    const timer = this.database.servers.length > 1 ? setInterval(inspect, SILENCE_MS).unref() : undefined;
    stream.once('close', () => {
      clearInterval(timer);
      this.open.delete(stream);
    });
    return connectTo();
  }

  /** The first server that can be used. All connections that are made at the same time share one search. */
  private find(): Promise<DatabaseServer> {
    if (this.search) return this.search;
    this.search = this.askAll();
    const forget = (): void => (this.search = undefined);
    this.search.then(forget, () => setTimeout(forget, SEARCH_EVERY_MS).unref());
    return this.search;
  }

  private async askAll(): Promise<DatabaseServer> {
    const { servers } = this.database;
    const usable = new Set<DatabaseServer>();
    const answers = servers.map(async (server) => {
      usable.add(await this.ask(server));
      return server;
    });
    const fastest = await Promise.any(answers).catch((error: unknown) => {
      throw noServerError(servers, (error as AggregateError).errors);
    });
    const before = answers.slice(0, servers.indexOf(fastest));
    await Promise.race([Promise.allSettled(before), sleep(ORDER_MS, undefined, { ref: false })]);
    return servers.find((server) => usable.has(server)) ?? fastest;
  }

  /** Rejects if the server cannot be used. */
  private async ask(server: DatabaseServer, timeout = ASK_TIMEOUT_MS): Promise<DatabaseServer> {
    const { connectionString, target } = this.database;
    const limits = { connectionTimeoutMillis: timeout, query_timeout: timeout };
    const client = leadTo(
      new this.Client({ connectionString, application_name: 'plant-store-search', ...limits }),
      server,
    );
    ignoreErrors(client);
    try {
      await client.connect();
      if (target === 'any') return server;
      const [state] = (await client.query<{ isStandby: boolean; isReadOnly: boolean }>(FIND_STATE)).rows;
      if (!state?.isStandby && !(state?.isReadOnly && target === 'read-write')) return server;
      const why = `accepts no writes: it is ${state.isStandby ? 'a standby' : 'read-only'}`;
      // Reported as the same failure of a statement is.
      throw Object.assign(new Error(why), { code: READ_ONLY });
    } finally {
      // The server may fall silent now.
      internalsOf(client).connection.stream.unref();
      void client.end();
    }
  }

  /** Gives up all connections to a server that does not answer, if another one can be used. A long statement alone is no reason. */
  private async doubt(server: DatabaseServer): Promise<void> {
    if (this.doubted.has(server)) return;
    this.doubted.add(server);
    // With "too many clients", for example, a server answers that works.
    const lives = await this.ask(server, DOUBT_MS).then(
      () => true,
      (error: unknown) => ![undefined, READ_ONLY, NO_SERVER].includes(sqlStateOf(error)),
    );
    const others = this.database.servers.filter((other) => other !== server);
    if (lives) await sleep(ASK_TIMEOUT_MS, undefined, { ref: false });
    else if (await Promise.any(others.map((other) => this.ask(other))).catch(ignore)) {
      const reason = new Error('the server does not answer, and another one is used');
      for (const [stream, its] of this.open) if (its === server) stream.destroy(reason);
    }
    this.doubted.delete(server);
  }
}

function noServerError(servers: readonly DatabaseServer[], failures: readonly unknown[]): Error {
  const reasons = servers.map((server, index) => `${nameOfServer(server)}: ${reasonOf(failures[index])}`);
  const refusals = failures.filter((failure) => sqlStateOf(failure) !== undefined);
  // The refusal of a primary says more than that of its standby.
  const cause = refusals.find((failure) => sqlStateOf(failure) !== READ_ONLY) ?? refusals[0];
  return new Error(reasons.join('; '), { cause });
}

function leadTo(client: pg.Client, { host, port }: DatabaseServer): pg.Client {
  // pg searches the password file for them.
  Object.assign(internalsOf(client).connectionParameters, { host, port });
  return Object.assign(client, { host, port });
}

function ignore(): void {
  // It is reported elsewhere.
}
