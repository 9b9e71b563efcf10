import { describe, expect, it } from '@jest/globals';
import {
  All,
  Controller,
  type DynamicModule,
  Get,
  Module,
  Post,
  Put,
  type Type,
  Version,
  VERSION_NEUTRAL,
  type VersioningOptions,
  VersioningType,
} from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type PlantsModuleExtras, PlantsModuleOptionsError } from './plants.options.js';
import { assertPathFree } from './plants-path.js';
import { PlantsModule } from './plants.module.js';

const URI: VersioningOptions = { type: VersioningType.URI };
const URI_1: VersioningOptions = { type: VersioningType.URI, defaultVersion: '1' };
const HEADER: VersioningOptions = { type: VersioningType.HEADER, header: 'X-Version' };

function storeAt(path: string, version?: PlantsModuleExtras['version']): DynamicModule {
  // Nothing listens there: an application whose routes are in place fails for want of the database.
  const database = { url: 'postgresql://gardener@127.0.0.1:1/plants' };
  return PlantsModule.forRoot({ database, path, ...(version !== undefined && { version }) });
}

function hostWith(...controllers: Type[]): DynamicModule {
  @Module({})
  class GardenModule {}
  return { module: GardenModule, controllers };
}

@Controller('plants')
class FindsPlants {
  @Put('/')
  replace(): undefined {
    return undefined;
  }
}

@Controller()
class CreatesPlants {
  @Post(['trees', '/plants/'])
  create(): undefined {
    return undefined;
  }
}

@Controller({ path: 'Plants', version: '2' })
class AnswersAll {
  @All()
  answer(): undefined {
    return undefined;
  }
}

@Controller('plants')
class AnswersAnyVersion {
  @Get()
  @Version(VERSION_NEUTRAL)
  find(): undefined {
    return undefined;
  }
}

@Controller(':plants')
class Wider {
  @All('/')
  answer(): undefined {
    return undefined;
  }
}

@Controller('plants')
class Below {
  @Post('search')
  search(): undefined {
    return undefined;
  }
}

type Scenario = [imports: NonNullable<DynamicModule['imports']>, versioning?: VersioningOptions | undefined];

async function faultsOf(platform: string, [imports, versioning]: Scenario): Promise<string[]> {
  @Module({ imports })
  class HostModule {}
  const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(HostModule, adapter, { logger: false, abortOnError: false });
  if (versioning) app.enableVersioning(versioning);
  const failure: unknown = await app
    .init()
    .catch((error: unknown) => error)
    .finally(() => app.close());
  if (failure instanceof PlantsModuleOptionsError) return failure.message.split('\n').slice(1);
  expect(failure).toMatchObject({ message: expect.stringMatching(/database/i) });
  return [];
}

describe.each(['express', 'fastify'])(`${assertPathFree.name} on %s`, (platform) => {
  it.each<Scenario>([
    [[storeAt('plants'), storeAt('/plants/')]],
    [[storeAt('plants', '1'), storeAt('plants', '2')]],
    [[storeAt('plants', '1'), storeAt('plants', ['2', '1'])], URI],
    [[storeAt('plants'), storeAt('plants', VERSION_NEUTRAL)], URI],
    [[storeAt('plants'), storeAt('plants', '1')], URI_1],
    [[storeAt('plants', '1'), storeAt('plants', VERSION_NEUTRAL)], HEADER],
    [[storeAt('plants'), storeAt('plants', '1')], HEADER],
  ])('should refuse two stores that cannot be told apart (%#)', async (...scenario) => {
    const faults = await faultsOf(platform, scenario);
    expect(faults).toEqual([
      expect.stringMatching(/^path: two stores have "\/(v1\/)?plants", each should have a path of its own/),
    ]);
  });

  it.each<Scenario>([
    [[storeAt('plants'), storeAt('garden/plants')]],
    [[storeAt('plants', '1'), storeAt('plants', ['2', VERSION_NEUTRAL])], URI],
    [[storeAt('plants'), storeAt('plants', '1')], URI],
    [[storeAt('plants', '1'), storeAt('plants', '2')], HEADER],
  ])('should let stores be that can be told apart (%#)', async (...scenario) => {
    expect(await faultsOf(platform, scenario)).toEqual([]);
  });

  it.each<[controller: string, method: string, ...Scenario]>([
    ['FindsPlants', 'PUT', [storeAt('plants'), hostWith(Below, FindsPlants)]],
    ['CreatesPlants', 'POST', [storeAt('plants'), hostWith(CreatesPlants)]],
    ['CreatesPlants', 'POST', [hostWith(CreatesPlants), storeAt('plants')]],
    ['AnswersAll', 'ALL', [storeAt('Plants', ['1', '2']), hostWith(AnswersAll)], HEADER],
  ])(
    'should refuse a route of the application where the store answers: %s, %s (%#)',
    async (name, method, ...scenario) => {
      const faults = await faultsOf(platform, scenario);
      expect(faults).toEqual([
        expect.stringMatching(
          `^path: is "/[Pp]lants" with all methods, where ${name} has ${method}, should be a path of the`,
        ),
      ]);
      expect(faults[0]).toMatch('or, where versioning is enabled, a version of its own');
    },
  );

  it.each<Scenario>([
    [[hostWith(Wider, Below), storeAt('plants')]],
    [[storeAt('plants'), hostWith(Wider, Below)]],
    [[storeAt('Plants', '1'), hostWith(AnswersAll)], URI],
    [[storeAt('Plants', '1'), hostWith(AnswersAll)], HEADER],
    [[storeAt('plants', '1'), hostWith(AnswersAnyVersion)], HEADER],
    [[storeAt('plants', '1'), hostWith(AnswersAnyVersion)], URI],
  ])('should let a route of the application be that gets its requests (%#)', async (...scenario) => {
    expect(await faultsOf(platform, scenario)).toEqual([]);
  });

  it('should know the path of a module', async () => {
    const garden = hostWith(CreatesPlants);
    const at = (path: string): DynamicModule => RouterModule.register([{ path, module: garden.module }]);
    expect(await faultsOf(platform, [[storeAt('plants'), garden, at('garden')]])).toEqual([]);
  });
});

describe(`${assertPathFree.name}, with paths that differ in case`, () => {
  const stores: Scenario = [[storeAt('plants'), storeAt('Plants')]];

  it('should refuse them on Express, which takes them for one', async () => {
    expect(await faultsOf('express', stores)).toEqual([
      expect.stringMatching('^path: two stores have "/plants" .to Express the same as "/Plants"., each should'),
    ]);
  });

  it('should let them be on Fastify', async () => {
    expect(await faultsOf('fastify', stores)).toEqual([]);
  });
});

describe(`${assertPathFree.name}, with a route of the application that comes first`, () => {
  const host: Scenario = [[hostWith(FindsPlants), storeAt('plants')]];

  it('should let it be on Express, where each gets its requests', async () => {
    expect(await faultsOf('express', host)).toEqual([]);
  });

  it('should refuse it on Fastify, which has one route for a path and method', async () => {
    expect(await faultsOf('fastify', host)).toEqual([expect.stringMatching('FindsPlants has PUT')]);
  });
});
