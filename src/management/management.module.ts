import { type DynamicModule, Module } from '@nestjs/common';
import { CredentialLimits } from '../auth/rate-limits.js';
import { Database } from '../database/database.js';
import { PlantsStatistics } from '../plants/plants-statistics.js';
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
            { wrongTokensBy }: CredentialLimits,
          ) => new ManagementServer(address, { plants, pool, wrongTokensBy, readiness, clients }, configuration),
          inject: [Readiness, PlantsStatistics, Database, CredentialLimits],
        },
      ],
      // Nest starts global modules first and shuts them down last, so that liveness is answered from start to end.
      global: true,
    };
  }
}
