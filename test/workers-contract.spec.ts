import { describe } from '@jest/globals';
import { describeContract } from './contract/describe-contract.js';
import { runningTarget } from './contract/running-target.js';
import { PlantStoreProcess } from './support/process.js';
import { connectTo } from './support/store.js';
import { createTestDatabase } from './support/test-database.js';

describe('POST /plants, answered by two workers', () => {
  describeContract(
    runningTarget(async () => {
      const database = await createTestDatabase();
      const service = await PlantStoreProcess.serve(database.url, { WORKERS: '2' });
      return {
        ...connectTo(service.port, ''),
        errorStatus: 'contract' as const,
        database,
        stop: async () => {
          service.signal('SIGTERM');
          await service.ended;
          await database.drop();
        },
      };
    }),
  );
});
