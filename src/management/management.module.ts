import { type DynamicModule, Module } from '@nestjs/common';
import {
  type ListenerAddress,
  MANAGEMENT_ADDRESS,
  ManagementServer,
  SHOWN_CONFIGURATION,
  type ShownConfiguration,
} from './management-server.js';
import { Readiness } from './readiness.js';

/** Answers an operator's questions about a store on a listener of its own, never on the public port. */
@Module({})
export class ManagementModule {
  /** @param store the `PlantsModule` whose health and statistics are reported */
  static forRoot(
    address: ListenerAddress,
    store: DynamicModule,
    configuration: ShownConfiguration = {},
  ): DynamicModule {
    return {
      module: ManagementModule,
      imports: [store],
      providers: [
        { provide: MANAGEMENT_ADDRESS, useValue: address },
        { provide: SHOWN_CONFIGURATION, useValue: configuration },
        ManagementServer,
        Readiness,
      ],
      // Nest starts global modules first and shuts them down last, so that liveness is answered from start to end.
      global: true,
    };
  }
}
