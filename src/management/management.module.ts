import { type DynamicModule, Module } from '@nestjs/common';
import { BearerStrategy } from '../auth/bearer-auth.guard.js';
import { IssuedTokenVerifier } from '../auth/tokens/issued-token-verifier.js';
import { Database } from '../database/database.js';
import { Histogram, PlantsMetrics } from '../plants/plants.metrics.js';
import { WriteBudget } from '../plants/write-queue.js';
import type { ClientStatistics } from './client-statistics.js';
import { type ListenerAddress, ManagementServer } from './management-server.js';
import { Readiness } from './readiness.js';

/** What is reported about. */
interface Observed {
  /** The `PlantsModule`. */
  store: DynamicModule;
  /** The `AuthModule`. */
  auth: DynamicModule;
  clients: ClientStatistics;
}

/** Answers an operator's questions about a store on a listener of its own, never on the public port. */
@Module({})
export class ManagementModule {
  static forRoot(address: ListenerAddress, { store, auth, clients }: Observed): DynamicModule {
    return {
      module: ManagementModule,
      imports: [store, auth],
      providers: [
        Readiness,
        {
          provide: ManagementServer,
          useFactory: (
            readiness: Readiness,
            plants: PlantsMetrics,
            budget: WriteBudget,
            database: Database,
            credentials: BearerStrategy,
            issuedTokens: IssuedTokenVerifier,
          ) => {
            const waits = (database.connectionWaits = Histogram.ofSeconds());
            const sources = { plants, budget, database, waits, credentials, issuedTokens, readiness, clients };
            return new ManagementServer(address, sources);
          },
          inject: [Readiness, PlantsMetrics, WriteBudget, Database, BearerStrategy, IssuedTokenVerifier],
        },
      ],
      // Nest starts global modules first and shuts them down last, so that liveness is answered from start to end.
      global: true,
    };
  }
}
