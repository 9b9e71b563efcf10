import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { PlantsModuleExtras, PlantsModuleOptions } from './plants-module.options.js';
import { plantsControllerAt } from './plants.controller.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: PLANTS_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<PlantsModuleOptions>({ moduleName: 'Plants' })
    .setClassMethodName('forRoot')
    .setExtras<PlantsModuleExtras>(
      { path: 'plants', guards: [] },
      (definition, { path = '', guards = [], imports = [] }) => ({
        ...definition,
        imports: [...(definition.imports ?? []), ...imports],
        controllers: [plantsControllerAt(path, guards)],
      }),
    )
    .build();
