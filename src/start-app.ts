import type { NestExpressApplication } from '@nestjs/platform-express';
import { setFlagsFromString } from 'node:v8';
import type { AppOptions } from './app/app.module.js';
import { listenError } from './app/config-error.js';
import { createApp } from './create-app.js';

/** The standalone application, listening. Rejects with what is wrong with the configuration, the database or the port. */
export async function startApp(options: AppOptions): Promise<NestExpressApplication> {
  // V8 allocates for good, in the old generation, what it has often seen survive: here, what every request makes that waits for
  // the storage, and is garbage a moment later. A full collection of that costs far more memory and time than many small ones.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // And it lets the heap grow fourfold before it collects it: of a small one, far more than a collection costs.
  setFlagsFromString('--heap-growing-percent=60');
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
