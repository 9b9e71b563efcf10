import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AppOptions } from './app.module.js';
import { listenError } from './config/listen-error.js';
import { createApp } from './create-app.js';

/** The standalone application, listening. Rejects with what is wrong with the configuration, the database or the port. */
export async function startApp(options: AppOptions): Promise<NestExpressApplication> {
  const { host, port } = options;
  const app = await createApp(options);
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw listenError(error, { host: 'HOST', port: 'PORT' }, { host, port });
  }
  return app;
}
