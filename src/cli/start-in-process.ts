import type { AppOptions } from '../app/app.module.js';
import { startApp } from '../app/create-app.js';
import type { RunningService } from './running-service.js';

/** The service in this process. */
export async function startInProcess(options: AppOptions): Promise<RunningService> {
  const app = await startApp(options);
  return { url: await app.getUrl(), stop: () => app.close(), kill: () => undefined };
}
