import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { PlantsModuleExtras, PlantsModuleOptions } from './plants-module.options.js';
import { PLANTS_PATH } from './plants-path.js';
import { plantsControllerAt } from './plants.controller.js';

const DEFAULT_PATH = 'plants';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: PLANTS_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<PlantsModuleOptions>({ moduleName: 'Plants' })
    .setClassMethodName('forRoot')
    .setExtras<PlantsModuleExtras>(
      { path: DEFAULT_PATH, guards: [], imports: [] },
      (definition, { path = DEFAULT_PATH, guards = [], imports = [] }) => ({
        ...definition,
        providers: [
          ...(definition.providers ?? []),
          { provide: PLANTS_PATH, useValue: path.replace(/^\/+|\/+$/g, '') },
        ],
        imports: [...(definition.imports ?? []), ...imports],
        controllers: [plantsControllerAt(path, guards)],
      }),
    )
    .build();
