import type { ModulesContainer } from '@nestjs/core';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';

/** Injection token of the path of a store, without slashes around it. */
export const PLANTS_PATH = Symbol('PLANTS_PATH');

/** Nest would route all requests to the store that comes first, and say nothing. */
export function assertOwnPath(path: string, modules: ModulesContainer): void {
  const paths = [...modules.values()].map((module) => module.providers.get(PLANTS_PATH)?.instance);
  if (paths.filter((other) => other === path).length > 1) {
    throw new PlantsModuleOptionsError(
      `Two stores have the path "${path}": give each PlantsModule a \`path\` of its own.`,
    );
  }
}
