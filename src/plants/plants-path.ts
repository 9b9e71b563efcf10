import { type HttpServer, RequestMethod, VERSION_NEUTRAL } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { applicationRoutes, type ApplicationRoute } from './application-routes.js';
import { PlantsController } from './plants.controller.js';
import { PlantsModuleOptionsError } from './plants.options.js';

/** What is used of Express. */
interface Express {
  enabled(setting: string): boolean;
}

/** The application that a store is in, before its routes are registered. */
interface HostApplication {
  modules: ModulesContainer;
  config: ApplicationConfig;
  adapter: HttpServer;
}

const OR_VERSION = 'or, where versioning is enabled, a version of its own';

/**
 * Throws a PlantsModuleOptionsError where something else answers at the path of the store. Express would send all requests to
 * what comes first, and say nothing; Fastify would name a method and a path, and no option.
 *
 * @param store the instance of the module
 */
export function assertPathFree(store: object, { modules, config, adapter }: HostApplication): void {
  const routes = applicationRoutes(modules, config);
  const stores = new Map(routes.filter(isOfStore).map((route) => [route.module, route]));
  const own = [...stores.values()].find(({ module }) => module.instance === store);
  if (own === undefined) return;
  const platform = adapter.getType();
  const exactCase = platform !== 'express' || (adapter.getInstance() as Express).enabled('case sensitive routing');

  const faults = [...stores.values()]
    .filter((other) => other !== own && (sharesVersion(own, other) || isNeutral(own) || isNeutral(other)))
    .flatMap((other) => sharedPaths(own, other, exactCase))
    .map((path) => `path: two stores have ${path}, each should have a path of its own, ${OR_VERSION}`);
  const ofHost = routes.filter(({ module }) => !stores.has(module));
  for (const other of ofHost) {
    const isFirst = routes.indexOf(own) < routes.indexOf(other);
    if (!(platform === 'fastify' ? sharesVersion(own, other) : hides(own, other, isFirst))) continue;
    for (const path of sharedPaths(own, other, exactCase)) {
      faults.push(
        `path: is ${path} with all methods, where ${other.controller.name} has ${RequestMethod[other.method]}, ` +
          `should be a path of the store's own, ${OR_VERSION}`,
      );
    }
  }
  if (faults.length > 0) throw new PlantsModuleOptionsError([...new Set(faults)]);
}

function isOfStore({ controller }: ApplicationRoute): boolean {
  return controller.prototype instanceof PlantsController;
}

/** Whether, at the same path on Express, the store takes requests from the other route for good, or that one from the store. */
function hides(store: ApplicationRoute, other: ApplicationRoute, isStoreFirst: boolean): boolean {
  if (sharesVersion(store, other) || isNeutral(isStoreFirst ? store : other)) {
    return isStoreFirst || other.method === RequestMethod.POST || other.method === RequestMethod.ALL;
  }
  return false;
}

/** The paths that are one to the platform, as a message shows them. */
function sharedPaths(one: ApplicationRoute, other: ApplicationRoute, exactCase: boolean): string[] {
  const spelling = (path: string): string => (exactCase ? path : path.toLowerCase());
  return one.paths.flatMap((path) => {
    const found = other.paths.find((candidate) => spelling(candidate) === spelling(path));
    if (found === undefined) return [];
    return [found === path ? `"${path}"` : `"${path}" (to Express the same as "${found}")`];
  });
}

function sharesVersion(one: ApplicationRoute, other: ApplicationRoute): boolean {
  return one.versions.some((version) => other.versions.includes(version));
}

function isNeutral({ versions }: ApplicationRoute): boolean {
  return versions.includes(VERSION_NEUTRAL);
}
