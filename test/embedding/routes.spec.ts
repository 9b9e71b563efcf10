import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Module, type ModuleMetadata, Post, Put, VersioningType } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { PlantsModule, type PlantsModuleOptions, PlantsService } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { type Answer, guardedBy, Host, type HostSettings, PLATFORMS } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

/** The host's own routes on the path of the store, which answer with the body that they got. */
@Controller('plants')
class OwnController {
  @Post()
  post(@Body() body: unknown): object {
    return { host: body ?? {} };
  }

  @Put()
  put(@Body() body: unknown): object {
    return { host: body ?? {} };
  }
}
@Module({ controllers: [OwnController] })
class OwnModule {}

let database: TestDatabase;
let host: Host | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await host?.stop();
  host = undefined;
  await database.query('TRUNCATE plants');
});
afterAll(() => database.drop());

const storeWith = (options: Partial<PlantsModuleOptions> = {}) =>
  PlantsModule.forRoot({ database: { url: database.url }, guards: 'none', ...options });
const ids = async (): Promise<unknown[]> => (await database.query('SELECT id FROM plants')).map(({ id }) => id);
const start = async (imports: NonNullable<ModuleMetadata['imports']>, settings?: HostSettings): Promise<Host> =>
  (host = await Host.start({ imports }, settings));
const send = (method: string, path: string, headers = {}): Promise<Answer | undefined> =>
  Promise.resolve(host?.send(method, path, PLANT, headers));

const BY_STORE = { status: 200, body: { name: 'Rose' } };
const BY_HOST = { body: { host: JSON.parse(PLANT) as object } };
const notFound = (method: string, path: string): object => ({
  status: 404,
  body: { message: `Cannot ${method} ${path}` },
});

describe.each(PLATFORMS)('the route of a store in a host on %s', (platform) => {
  it('should be at its path below the prefix of the host, in its version, and leave all others to the host', async () => {
    const prepare = (app: NestExpressApplication): unknown =>
      app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI, defaultVersion: '7' });
    await start([storeWith({ path: 'garden/trees' }), storeWith({ version: '1' }), OwnModule], { platform, prepare });
    expect(await send('POST', '/api/v1/plants')).toMatchObject(BY_STORE);
    expect(await send('PUT', '/api/v1/plants')).toMatchObject(notFound('PUT', '/api/v1/plants'));
    expect(await send('PUT', '/api/v7/plants')).toMatchObject(BY_HOST);
    for (const path of ['/api/plants', '/api/v2/plants', '/api/v1/plants/1', '/api/v1/garden/trees'])
      expect(await send('POST', path)).toMatchObject(notFound('POST', path));
    expect(await ids()).toEqual(['9007199254740993']);
    await database.query('TRUNCATE plants');
    expect(await send('POST', '/api/v7/garden/trees')).toMatchObject(BY_STORE);
  });

  it('should take the requests of its own version alone, and leave to the host the bodies of all others', async () => {
    const prepare = (app: NestExpressApplication): unknown =>
      app.enableVersioning({ type: VersioningType.HEADER, header: 'X-Version', defaultVersion: '2' });
    await start([OwnModule, storeWith({ version: '1' })], { platform, prepare });
    expect(await send('POST', '/plants', { 'X-Version': '1' })).toMatchObject(BY_STORE);
    for (const method of ['POST', 'PUT'])
      expect(await send(method, '/plants', { 'X-Version': '2' })).toMatchObject(BY_HOST);
  });

  it('should show to the rest of the host the headers that the client sent', async () => {
    const seen: unknown[] = [];
    const prepare = (app: NestExpressApplication): unknown =>
      app.use((request: { headers: object }, _response: unknown, next: () => void) => {
        seen.push(request.headers);
        next();
      });
    await start([storeWith()], { platform, prepare });
    expect(await send('POST', '/plants', { 'Content-Type': 'application/json; charset=utf-8' })).toMatchObject(
      BY_STORE,
    );
    expect(seen).toMatchObject([{ 'content-type': 'application/json; charset=utf-8' }]);
  });

  it('should refuse bodies that the host has parsed and not kept, and tell the log the line to add', async () => {
    const { logger } = await start([storeWith()], { platform, body: 'parsed' });
    expect(await send('POST', '/plants')).toMatchObject({ body: { error: 50000 } });
    expect(await ids()).toEqual([]);
    const [entry] = logger.entries.filter(({ level }) => level === 'error');
    const advice =
      /NestFactory\.create\(AppModule, \{ rawBody: true \}\), and no other parser of JSON: app\.useBodyParser/;
    expect(`${entry?.message} ${entry?.details.join()}`).toMatch(advice);
  });
});

describe('several stores in a host', () => {
  it('should each have its own database, tokens, statuses, limits and path, or no route', async () => {
    const other = await createTestDatabase();
    const forest = PlantsModule.forRootAsync({
      path: 'trees',
      ...guardedBy(`${TOKEN}-of-trees`),
      errorStatus: 'semantic',
      useFactory: () => Promise.resolve({ database: { url: other.url }, bodyLimit: 100 }),
    });
    const hidden = PlantsModule.forRoot({ database: { url: database.url }, path: false });
    const { app } = await start([storeWith({ ...guardedBy(TOKEN), path: 'herbs' }), forest, hidden]);
    const long = `{"id": 1, "name": "${'x'.repeat(100)}"}`;
    const [toHerbs, toTrees] = ['', '-of-trees'].map((end) => ({ Authorization: `Bearer ${TOKEN}${end}` }));
    for (const [path, body, headers, expected] of [
      ['/herbs', long, toHerbs, { status: 200 }],
      ['/herbs', PLANT, toTrees, { status: 400, body: { error: 40101 } }],
      ['/trees', PLANT, toHerbs, { status: 401, body: { error: 40101 } }],
      ['/trees', long, toTrees, { status: 413, body: { error: 41300 } }],
      ['/trees', PLANT, toTrees, BY_STORE],
      ['/plants', PLANT, {}, notFound('POST', '/plants')],
    ] as const)
      expect(await host?.send('POST', path, body, headers)).toMatchObject(expected);
    await app.select(hidden).get(PlantsService).create({ id: 2n, name: 'Rose' });
    expect([await ids(), await other.query('SELECT id FROM plants')]).toEqual([
      ['1', '2'],
      [{ id: '9007199254740993' }],
    ]);
    await host?.stop();
    await other.drop();
    host = undefined;
  });
});
