import { type DynamicModule, Module } from '@nestjs/common';
import { BearerStrategy } from '../auth/bearer-auth.guard.js';
import { IssuedTokenVerifier } from '../auth/tokens/issued-token-verifier.js';
import { Database, type PoolStatistics } from '../database/database.js';
import { Histogram, PlantsStatistics } from '../plants/plants-statistics.js';
import type { ClientStatistics } from './client-statistics.js';
import { type ListenerAddress, ManagementServer, type ShownConfiguration } from './management-server.js';
import { Readiness } from './readiness.js';

/** What is reported about. */
interface Observed {
  /** The `PlantsModule`. */
  store: DynamicModule;
  /** The `AuthModule`. */
  auth: DynamicModule;
  clients: ClientStatistics;
  configuration: ShownConfiguration;
}

/** The waits for a connection, counted around `connect` of the pool; not counted if the pool is the host's. */
class ConnectionWaits {
  /** Statements that wait now: all connections are in use, or one is just being made. */
  now = 0;
  /** How long each of them waited, in vain too. */
  readonly seconds = Histogram.ofSeconds();

  constructor(pool: PoolStatistics | undefined) {
    if (!pool) return;
    const connect = pool.connect.bind(pool);
    pool.connect = async () => {
      const since = performance.now();
      this.now += 1;
      try {
        return await connect();
      } finally {
        this.now -= 1;
        this.seconds.observeSince(since);
      }
    };
  }
}

/** Answers an operator's questions about a store on a listener of its own, never on the public port. */
@Module({})
export class ManagementModule {
  static forRoot(address: ListenerAddress, { store, auth, clients, configuration }: Observed): DynamicModule {
    return {
      module: ManagementModule,
      imports: [store, auth],
      providers: [
        Readiness,
        {
          provide: ManagementServer,
          useFactory: (
            readiness: Readiness,
            plants: PlantsStatistics,
            { pool }: Database,
            credentials: BearerStrategy,
            issuedTokens: IssuedTokenVerifier,
          ) => {
            const waits = new ConnectionWaits(pool);
            const sources = { plants, pool, waits, credentials, issuedTokens, readiness, clients };
            return new ManagementServer(address, sources, configuration);
          },
          inject: [Readiness, PlantsStatistics, Database, BearerStrategy, IssuedTokenVerifier],
        },
      ],
      // Nest starts global modules first and shuts them down last, so that liveness is answered from start to end.
      global: true,
    };
  }
}
