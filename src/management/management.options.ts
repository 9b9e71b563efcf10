import { ConfigurableModuleBuilder, type ModuleMetadata } from '@nestjs/common';

/** Options of the management module. */
export interface ManagementOptions {
  /** Where the listener is bound; none where another process answers for this one. */
  listener?: ListenerAddress | undefined;
  /** Milliseconds that a readiness check may take until the service counts as unavailable; 2000 by default. */
  checkTimeout?: number;
}

interface ListenerAddress {
  host: string;
  /** 0 takes any free one. */
  port: number;
}

interface ManagementExtras {
  /** Modules that export the `ReadinessCheck` and the `MetricsSource`. */
  imports?: NonNullable<ModuleMetadata['imports']>;
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: MANAGEMENT_OPTIONS } =
  new ConfigurableModuleBuilder<ManagementOptions>({ moduleName: 'Management' })
    .setClassMethodName('forRoot')
    .setExtras<ManagementExtras>({}, (definition, { imports = [] }) => ({
      ...definition,
      imports: [...(definition.imports ?? []), ...imports],
      // Nest starts global modules first and shuts them down last, so that liveness is answered all the while.
      global: true,
    }))
    .build();
