import { describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database/test-database.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { TOKEN } from '../support/http/request.js';
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
      const [code = ''] = await documentedCode('### Nest 11 in Jest');
      const { scripts } = JSON.parse(code) as { scripts: { test: string } };
      await runOwnTests('nest-11', scripts.test);
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
