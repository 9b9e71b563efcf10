import { describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database/test-database.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { requestHead, TOKEN } from '../support/http/request.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { connectTo } from '../support/service/store.js';
import { describeLayout, describeOverHttp2, documentedCode, runOwnTests } from './describe-layout.js';
import { COMMAND_LIMIT_MS } from './run-command.js';
import { inLayout } from './workspace.js';

describe('a host on Nest 11, in CommonJS, with Jest', () => {
  describeLayout('nest-11', PLATFORMS);
  describeOverHttp2('nest-11');

  it(
    'should import migrations and JWTs in its tests with the script of the documentation',
    async () => {
      const [code = ''] = await documentedCode('#### What Jest imports later');
      const { scripts } = JSON.parse(code) as { scripts: { test: string } };
      await runOwnTests('nest-11', scripts.test);
    },
    COMMAND_LIMIT_MS,
  );

  it(
    'should have the store in the spans of OpenTelemetry as it has its own routes',
    async () => {
      const database = await createTestDatabase();
      try {
        const variables = { DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN, PLATFORM: 'express', BODY: 'exempt' };
        await using host = new PlantStoreProcess([], {
          script: inLayout('nest-11', 'dist/main.js'),
          cwd: inLayout('nest-11'),
          variables: { ...variables, PORT: '0', NODE_OPTIONS: '-r ./otel.cjs' },
        });
        await host.listening();
        const { post, raw } = connectTo(host.port, '/api/v1');

        expect(await post('{"id": 1, "name": "Rose"}')).toMatchObject({ status: 200, body: '{"name":"Rose"}' });
        const order = await raw(requestHead('GET /api/v1/orders/7 HTTP/1.1'));
        expect(order).toMatchObject({ status: 200, body: '{"data":{"id":7}}' });
        host.signal('SIGTERM');
        expect(await host.ended).toBe(0);
        expect(host.stdout.match(/^Span: .*$/gm)).toEqual([
          'Span: Create Nest App',
          'Span: create, create',
          'Span: PlantsController.create, PlantsController, create, /api/v1/plants',
          'Span: find, find',
          'Span: OrdersController.find, OrdersController, find, /api/v1/orders/:id',
        ]);
      } finally {
        await database.drop();
      }
    },
    COMMAND_LIMIT_MS,
  );

  it(
    'should log one entry for one failure, with its number and request id',
    async () => {
      const database = await createTestDatabase();
      try {
        const variables = { DATABASE_URL: database.url, ACCESS_TOKEN: TOKEN, PLATFORM: 'express', BODY: 'exempt' };
        await using host = new PlantStoreProcess([], {
          script: inLayout('nest-11', 'dist/main.js'),
          variables: { ...variables, PORT: '0', NO_COLOR: '1' },
        });
        await host.listening();
        await database.query('ALTER TABLE plants RENAME TO lost_plants');
        const { post } = connectTo(host.port, '/api/v1');

        const answer = await post('{"id": 1, "name": "Rose"}', { 'X-Request-Id': 'r-1' });
        expect(answer).toMatchObject({ status: 400 });
        await host.printed(/caused by|\n {4}at /);
        expect(host.output.match(/ ERROR .*/g)).toEqual([
          expect.stringMatching(
            /^ ERROR \[ApiExceptionFilter\] .*\{ error: 50000, requestId: 'r-1', token: 'static'(, plantId: '-?\d+')? \}$/,
          ),
        ]);
      } finally {
        await database.drop();
      }
    },
    COMMAND_LIMIT_MS,
  );
});
