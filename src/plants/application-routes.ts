import { type RequestMethod, VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { type ApplicationConfig, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js';

type RoutePath = Parameters<RoutePathFactory['create']>[0];
type Module = NonNullable<ReturnType<ModulesContainer['get']>>;
type Controller = abstract new (...dependencies: never[]) => object;

/** A route of any controller of the application, as Nest is about to register it. */
export interface ApplicationRoute {
  readonly module: Module;
  readonly controller: Controller;
  readonly method: RequestMethod;
  /** With the global prefix and, where it is told by the URI, the version. */
  readonly paths: readonly string[];
  /** Without those that the URI tells. */
  readonly versions: readonly (string | symbol)[];
}

// What the decorators of Nest set, and its RouterModule.
const PATH = 'path';
const METHOD = 'method';
const VERSION = '__version__';
const MODULE_PATH = '__module_path__';

/** All routes, in the order in which they are registered. */
export function applicationRoutes(modules: ModulesContainer, config: ApplicationConfig): ApplicationRoute[] {
  const pathFactory = new RoutePathFactory(config);
  const scanner = new MetadataScanner();
  const versioning = config.getVersioning();

  const routesOf = (module: Module, controller: Controller): ApplicationRoute[] => {
    const modulePath =
      metadata(MODULE_PATH + modules.applicationId, module.metatype) ?? metadata(MODULE_PATH, module.metatype) ?? '';
    const prototype = controller.prototype as Record<string, unknown>;
    return scanner.getAllMethodNames(prototype).flatMap((name) => {
      const handler = Object(prototype[name]) as object;
      if (metadata(PATH, handler) === undefined) return [];
      const method = metadata(METHOD, handler) as RequestMethod;
      // Without versioning Nest ignores versions.
      const version =
        versioning && (metadata(VERSION, handler) ?? metadata(VERSION, controller) ?? versioning.defaultVersion);
      const prefixes = {
        modulePath,
        globalPrefix: config.getGlobalPrefix(),
        controllerVersion: version,
        versioningOptions: versioning,
      } as RoutePath;
      const paths = listed(metadata(PATH, controller)).flatMap((ctrlPath) =>
        listed(metadata(PATH, handler)).flatMap((methodPath) =>
          pathFactory.create({ ...prefixes, ctrlPath, methodPath }, method),
        ),
      );
      const isInPath = versioning?.type === VersioningType.URI;
      const versions = listed(isInPath ? VERSION_NEUTRAL : (version ?? VERSION_NEUTRAL));
      return [{ module, controller, method, paths, versions }];
    });
  };

  return [...modules.values()].flatMap((module) =>
    [...module.controllers.values()].flatMap(({ metatype }) => routesOf(module, metatype as Controller)),
  );
}

function metadata(key: string, target: object): unknown {
  return Reflect.getMetadata(key, target);
}

/** As decorators take paths and versions: one, or several. */
function listed(given: unknown): string[] {
  return [given].flat() as string[];
}
