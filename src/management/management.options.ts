import { ConfigurableModuleBuilder, type ModuleMetadata } from '@nestjs/common';

import type { ManagementOptions } from './management-options.js';

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
