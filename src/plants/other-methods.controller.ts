import { Controller, RequestMapping, RequestMethod, type Type, UseFilters, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiExceptionFilter } from '../http/api-exception.filter.js';
import { MethodNotAllowedError } from '../errors/method-not-allowed.error.js';
import { ReadsOwnBody } from '../http/reads-own-body.decorator.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';

/** HEAD before GET, with which Fastify would add it by itself, and then not take it any more. */
const OTHER_METHODS = Object.values(RequestMethod)
  .filter((method) => typeof method === 'number' && method !== RequestMethod.POST)
  .reverse();

/** A controller that refuses every method but POST, once `refuseOtherMethods` has given it its routes. */
export function otherMethodsControllerAt({ path, version, guards }: Required<PlantsModuleExtras>): Type {
  @Controller({ path, ...(version !== undefined && { version }) })
  @UseGuards(...guards)
  @UseFilters(ApiExceptionFilter)
  @ApiExcludeController()
  class OtherMethodsController {}

  return OtherMethodsController;
}

/**
 * Express takes one route for all methods, behind the one for POST. Fastify would not start with it, as it has one route for a
 * path and method, so there every other method gets its own.
 */
export function refuseOtherMethods(controller: Type, platform: string): void {
  const prototype = controller.prototype as object;
  for (const method of OTHER_METHODS) {
    const name = `refuse${RequestMethod[method]}`;
    // Anew each time: the class may have been in an application on another platform before.
    const descriptor = { value: refuse(), configurable: true };
    Object.defineProperty(prototype, name, descriptor);
    if ((method === RequestMethod.ALL) === (platform === 'fastify')) continue;
    for (const decorate of [RequestMapping({ method }), ReadsOwnBody()]) decorate(prototype, name, descriptor);
  }
}

function refuse(): () => never {
  return () => {
    throw new MethodNotAllowedError('POST');
  };
}
