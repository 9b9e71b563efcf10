import { describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module, VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { ApplicationConfig, ModulesContainer, NestFactory } from '@nestjs/core';
import type { PlantsModuleExtras } from './plants-module.extras.js';
import { PlantsModuleOptionsError } from './plants-module-options.error.js';
import { PlantsPath } from './plants-path.js';

type Version = PlantsModuleExtras['version'];

@Module({})
class StoreModule {
  static at(path: string, version?: Version): DynamicModule {
    const provider = {
      provide: PlantsPath,
      useFactory: (modules: ModulesContainer, config: ApplicationConfig) =>
        new PlantsPath(path, version, modules, config),
      inject: [ModulesContainer, ApplicationConfig],
    };
    return { module: StoreModule, providers: [provider] };
  }
}

describe(PlantsPath.name, () => {
  async function start(stores: DynamicModule[], versioned: boolean, defaultVersion?: string): Promise<void> {
    @Module({ imports: stores })
    class HostModule {}
    const app = await NestFactory.create(HostModule, { logger: false, abortOnError: false });
    if (versioned) app.enableVersioning({ type: VersioningType.URI, ...(defaultVersion && { defaultVersion }) });
    await app.init().finally(() => app.close());
  }

  it.each([
    [[StoreModule.at('plants'), StoreModule.at('/plants/')], false],
    [[StoreModule.at('plants', '1'), StoreModule.at('plants', '2')], false],
    [[StoreModule.at('plants', '1'), StoreModule.at('plants', ['2', '1'])], true],
    [[StoreModule.at('plants'), StoreModule.at('plants', VERSION_NEUTRAL)], true],
    [[StoreModule.at('plants'), StoreModule.at('plants', '1')], true, '1'],
  ])('should refuse two stores where Nest would route all to the first (%#)', async (...arguments_) => {
    const failure = start(...(arguments_ as Parameters<typeof start>));
    await expect(failure).rejects.toThrow(PlantsModuleOptionsError);
    await expect(failure).rejects.toThrow('path: two stores have "plants", each should have a path of its own');
  });

  it.each([
    [[StoreModule.at('plants'), StoreModule.at('garden/plants')], false],
    [[StoreModule.at('plants', '1'), StoreModule.at('plants', ['2', VERSION_NEUTRAL])], true],
    [[StoreModule.at('plants'), StoreModule.at('plants', '1')], true],
  ])('should let stores be that can be told apart (%#)', async (...arguments_) => {
    await expect(start(...(arguments_ as Parameters<typeof start>))).resolves.toBeUndefined();
  });
});
