import { ConfigurableModuleBuilder, type DynamicModule } from '@nestjs/common';
import type { ErrorStatus } from '../errors/error-status.js';
import { ERROR_STATUS } from '../errors/error-status.token.js';
import { credentialsCheck } from './credentials-check.js';
import { describeCreatePlant } from './describe-create-plant.js';
import { extrasFaults } from './plants.options.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import type { PlantsModuleOptions } from './plants-module.options.js';
import { otherMethodsControllerAt } from './other-methods.controller.js';
import { plantsControllerAt } from './plants.controller.js';

/** Injection token of the class of the controller that refuses all methods but POST. */
export const OTHER_METHODS_CONTROLLER = Symbol('OTHER_METHODS_CONTROLLER');

const OPERATION_DESCRIPTION = Symbol('OPERATION_DESCRIPTION');

/** All of them: what is not named here Nest would count among the options. */
const DEFAULTS: Required<PlantsModuleExtras> = {
  path: 'plants',
  version: undefined,
  guards: [],
  imports: [],
  openApi: {},
};

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN: PLANTS_MODULE_OPTIONS } =
  new ConfigurableModuleBuilder<PlantsModuleOptions>({ moduleName: 'Plants' })
    .setClassMethodName('forRoot')
    .setExtras<PlantsModuleExtras>(DEFAULTS, storeOf)
    .build();

function storeOf(definition: DynamicModule, given: PlantsModuleExtras): DynamicModule {
  const { providers = [] } = definition;
  const faults = extrasFaults(given);
  if (faults.length > 0) throw new PlantsModuleOptionsError(faults);
  const { path = DEFAULTS.path, version, guards = [], imports = [], openApi = {} } = given;
  const extras: Required<PlantsModuleExtras> = { path, version, guards, imports, openApi };
  const controller = plantsControllerAt(extras);
  const otherMethods = otherMethodsControllerAt(extras);
  return {
    ...definition,
    providers: [
      ...providers,
      { provide: OTHER_METHODS_CONTROLLER, useValue: otherMethods },
      ...credentialsCheck(guards),
      {
        // A factory of the application's may say what failures are answered with, so it is known no earlier. It is no later
        // either: there are no documents before there are providers.
        provide: OPERATION_DESCRIPTION,
        useFactory: (errorStatus: ErrorStatus) => {
          describeCreatePlant(controller, extras, errorStatus);
        },
        inject: [ERROR_STATUS],
      },
    ],
    imports: [...(definition.imports ?? []), ...imports],
    controllers: [controller, otherMethods],
  };
}
