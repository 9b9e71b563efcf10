import type { Type } from '@nestjs/common';
import type { ErrorStatus } from '../errors/error-status.js';
import { ApiCreatePlant } from './plants.openapi.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import type { PlantsController } from './plants.controller.js';

type Functions = Record<'create', object>;

/**
 * Puts the description of a store's operation on its controller, in place of the one that is there. What the decorators of
 * the inherited method say comes with it: Nest looks for that on the function, and each store has a function of its own.
 */
export function describeCreatePlant(
  controller: Type<PlantsController>,
  { version, openApi: { namePrefix = '' } = {} }: PlantsModuleExtras,
  errorStatus: ErrorStatus,
): void {
  const prototype = controller.prototype as Functions;
  const { create: own } = prototype;
  const { create: inherited } = Object.getPrototypeOf(prototype) as Functions;
  for (const key of Reflect.getOwnMetadataKeys(own)) Reflect.deleteMetadata(key, own);
  for (const key of Reflect.getOwnMetadataKeys(inherited)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, inherited), own);
  }
  // With several versions Nest puts the version into the id; ours would be that of several operations.
  const operationId = Array.isArray(version) && version.length > 1 ? undefined : `create${namePrefix}Plant`;
  ApiCreatePlant({ namePrefix, operationId, errorStatus })(prototype, 'create', { value: own });
}
