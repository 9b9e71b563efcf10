import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { PlantsModuleExtras, PlantsModuleOptions } from './plants-module.options.js';
import { PLANTS_PATH } from './plants-path.js';
import { otherMethodsControllerAt } from './other-methods.controller.js';
import { plantsControllerAt } from './plants.controller.js';

/** Injection token of the class of the controller that refuses all methods but POST. */
export const OTHER_METHODS_CONTROLLER = Symbol('OTHER_METHODS_CONTROLLER');

const DEFAULT_PATH = 'plants';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: PLANTS_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<PlantsModuleOptions>({ moduleName: 'Plants' })
    .setClassMethodName('forRoot')
    .setExtras<PlantsModuleExtras>(
      { path: DEFAULT_PATH, guards: [] },
      (definition, { path = DEFAULT_PATH, guards = [], imports = [] }) => {
        const otherMethods = otherMethodsControllerAt(path, guards);
        return {
          ...definition,
          providers: [
            ...(definition.providers ?? []),
            { provide: PLANTS_PATH, useValue: path.replace(/^\/+|\/+$/g, '') },
            { provide: OTHER_METHODS_CONTROLLER, useValue: otherMethods },
          ],
          imports: [...(definition.imports ?? []), ...imports],
          controllers: [plantsControllerAt(path, guards), otherMethods],
        };
      },
    )
    .build();
