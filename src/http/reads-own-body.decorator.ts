import { type CustomDecorator, SetMetadata } from '@nestjs/common';

/** What `@RouteConfig()` of `@nestjs/platform-fastify` sets: by its name, so that a host on Express does not need that package. */
const ROUTE_CONFIG = '__fastify_route_config__';

/** What Nest's own decorators of methods, such as `@Post()`, set. */
const ROUTE_PATH = 'path';

interface RouteConfig {
  readsOwnBody?: boolean;
}

/** Marks a route that reads its body from the raw stream, where the application's own parser leaves it alone. */
export function ReadsOwnBody(): CustomDecorator {
  return SetMetadata(ROUTE_CONFIG, { readsOwnBody: true } satisfies RouteConfig);
}

/** The mark as Fastify keeps it with the route. */
export function isMarked(config: object): boolean {
  return (config as RouteConfig).readsOwnBody === true;
}

/** The mark on the function that Nest hands to the router, to which it copies a route's metadata. */
export function isMarkedHandler(handler: object): boolean {
  return isMarked((Reflect.getMetadata(ROUTE_CONFIG, handler) ?? {}) as RouteConfig);
}

/** Whether such a function is a route without the mark, and not, for one, a middleware. */
export function isUnmarkedRoute(handler: object): boolean {
  return Reflect.hasMetadata(ROUTE_PATH, handler) && !isMarkedHandler(handler);
}
