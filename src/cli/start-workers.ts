import { NestFactory } from '@nestjs/core';
import type { AppOptions } from '../app/app.module.js';
import { PrimaryModule } from '../cluster/primary.module.js';
import { WorkerPool } from '../cluster/worker-pool.js';
import { ServiceLogger } from '../app/service-logger.js';
import type { RunningService } from './running-service.js';

/** The service in processes of its own, which this one starts, watches and stops. */
export async function startWorkers(options: AppOptions): Promise<RunningService> {
  const primary = await NestFactory.createApplicationContext(PrimaryModule.forRoot(options), {
    abortOnError: false,
    logger: new ServiceLogger(options),
  });
  const pool = primary.get(WorkerPool, { strict: false });
  try {
    const url = await pool.start();
    return {
      url,
      stop: () => primary.close(),
      kill: () => {
        pool.kill();
      },
    };
  } catch (error) {
    await primary.close();
    throw error;
  }
}
