import { type DynamicModule, Module } from '@nestjs/common';
import type { AppOptions } from '../app/app.module.js';
import { ManagementModule } from '../management/management.module.js';
import { WorkersModule } from './workers.module.js';

/** What runs in the primary process: the management listener and the workers, and nothing of the application itself. */
@Module({})
export class PrimaryModule {
  static forRoot(options: AppOptions): DynamicModule {
    return {
      module: PrimaryModule,
      imports: [
        ManagementModule.forRoot({
          listener: { host: options.managementHost, port: options.managementPort },
          imports: [WorkersModule.forRoot(options)],
        }),
      ],
    };
  }
}
