import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { exemptPlantsFromBodyParser, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { Host, type HostSettings, PLATFORMS } from '../support/host/host.js';

const PLANT = '{"id": 9007199254740993, "name": "Rose"}';

// The contract suites show what the store reads with exemptPlantsFromBodyParser() and with rawBody.
describe.each(PLATFORMS)('bodies of the store behind the body parser of a host on %s', (platform) => {
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

  async function start(settings: HostSettings = {}): Promise<Host> {
    const store = PlantsModule.forRoot({ database: { url: database.url }, bodyLimit: 1000, guards: 'none' });
    return (host = await Host.start({ imports: [store] }, { platform, ...settings }));
  }

  const post = async (body: string, type = 'application/json'): Promise<unknown> =>
    (await host?.send('POST', '/plants', body, { 'Content-Type': type }))?.body;
  const ids = async (): Promise<unknown[]> => (await database.query('SELECT id FROM plants')).map(({ id }) => id);

  it('should be refused if the parser has decoded them, and the log should say what to do', async () => {
    const { logger } = await start({ body: 'parsed' });
    expect(await post(PLANT)).toMatchObject({ error: 50000 });
    expect(await ids()).toEqual([]);
    const [entry] = logger.entries.filter(({ level }) => level === 'error');
    expect([entry?.message, ...(entry?.details ?? [])].map(String).join()).toMatch(
      /exemptPlantsFromBodyParser\(app\).*`rawBody: true`/,
    );
  });

  it('should be exempt from a parser of every media type too, and be called what their client calls them', async () => {
    await start({
      prepare: (app) => {
        exemptPlantsFromBodyParser(app);
        if (platform === 'express') return;
        const fastify = app as unknown as NestFastifyApplication;
        fastify.useBodyParser('*', {}, (_request, _body, done) => {
          done(null, 'parsed');
        });
      },
    });
    expect(await post(PLANT)).toEqual({ name: 'Rose' });
    expect(await post(PLANT, 'text/plain')).toMatchObject({
      error: 41500,
      message: expect.stringContaining('"text/plain"') as unknown,
    });
  });

  it('should not be exempt from now on if the application has routes already', async () => {
    const { app } = await start({ body: 'parsed' });
    expect(() => {
      exemptPlantsFromBodyParser(app);
    }).toThrow(/comes too late: call it right after NestFactory\.create\(\), before any body parser/);
  });
});
