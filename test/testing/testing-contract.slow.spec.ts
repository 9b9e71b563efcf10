import { afterAll, beforeAll, describe } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import { AuthModule, BearerAuthGuard, exemptPlantsFromBodyParser } from '../../src/index.js';
import { PlantsInMemory, PlantsTestingModule } from '../../src/testing/index.js';
import type { ContractTarget } from '../contract/contract-target.js';
import { describeGuestContract } from '../contract/describe-guest-contract.js';
import { FIND_PLANTS, REMOVE_PLANTS } from '../contract/stored-plants.js';
import { configureHost } from '../packed/host/src/configure-host.js';
import { adapterOf } from '../support/host/adapter.js';
import { PLATFORMS } from '../support/host/platforms.js';
import { TOKEN } from '../support/http/request.js';
import { connectTo } from '../support/service/store.js';

describe.each(PLATFORMS)('POST /plants of PlantsTestingModule in a host on %s', (platform) => {
  let app: NestExpressApplication;
  let target: ContractTarget;

  beforeAll(async () => {
    const store = PlantsTestingModule.forRoot({
      guards: [BearerAuthGuard],
      imports: [AuthModule.forRoot({ accessTokens: [TOKEN] })],
    });
    const testing = await Test.createTestingModule({ imports: [store] }).compile();
    const adapter = adapterOf(platform);
    app = testing.createNestApplication<NestExpressApplication>(adapter, { logger: false });
    exemptPlantsFromBodyParser(app);
    configureHost(app);
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const database = databaseLike(app.get(PlantsInMemory, { strict: false }));
    target = { ...connectTo(port, '/api/v1'), errorStatus: 'contract', database };
  });
  afterAll(() => app.close());

  describeGuestContract(() => target, 'exempt', platform);
});

/** The rows that the table would have. */
function databaseLike(memory: PlantsInMemory): ContractTarget['database'] {
  const answers: Record<string, () => unknown[]> = {
    [FIND_PLANTS]: () =>
      memory.plants
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map(({ id, name, tag = null, idempotencyKey: idempotency_key = null }) => ({
          id: String(id),
          name,
          tag,
          idempotency_key,
        })),
    [REMOVE_PLANTS]: () => {
      memory.clear();
      return [];
    },
  };
  const query = async <Row>(sql: string): Promise<Row[]> => {
    const answer = answers[sql];
    if (!answer) throw new Error(`a store in memory does not know: ${sql}`);
    return Promise.resolve(answer() as Row[]);
  };
  return { query };
}
