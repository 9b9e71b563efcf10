import { type OnModuleInit, VERSION_NEUTRAL } from '@nestjs/common';
import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import type { PlantsModuleExtras } from './plants-module.extras.js';

/** Where a store answers. Starting fails where another one answers there too. */
export class PlantsPath implements OnModuleInit {
  private readonly path: string;

  constructor(
    path: string,
    private readonly version: PlantsModuleExtras['version'],
    private readonly modules: ModulesContainer,
    private readonly config: ApplicationConfig,
  ) {
    this.path = path.replace(/^\/+|\/+$/g, '');
  }

  /** Nest would route all requests to the store that comes first, and say nothing. */
  onModuleInit(): void {
    const stores = [...this.modules.values()].map(({ providers }) => providers.get(PlantsPath)?.instance);
    if (stores.some((other) => other instanceof PlantsPath && other !== this && this.collidesWith(other))) {
      throw new PlantsModuleOptionsError([
        `path: two stores have "${this.path}", each should have a path of its own, or, where versioning is enabled, a version of its own`,
      ]);
    }
  }

  private collidesWith({ path, versions }: PlantsPath): boolean {
    return path === this.path && versions.some((version) => this.versions.includes(version));
  }

  private get versions(): (string | symbol)[] {
    const versioning = this.config.getVersioning();
    // Without versioning Nest ignores versions.
    return [(versioning && (this.version ?? versioning.defaultVersion)) ?? VERSION_NEUTRAL].flat();
  }
}
