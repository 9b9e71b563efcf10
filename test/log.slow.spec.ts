import { describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './support/free-port.js';
import { sendInTurn } from './support/requests-in-turn.js';
import { serviceVariables } from './support/service-variables.js';
import { createTestDatabase } from './support/test-database.js';
import { until } from './support/until.js';

const main = fileURLToPath(new URL('../dist/main.js', import.meta.url));

describe('A log of requests that nobody reads', () => {
  it('should hold up no request of a service that logs them all, and not keep it when it stops', async () => {
    const database = await createTestDatabase();
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-log-'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const pipe = openSync(join(folder, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK);
    let service: ChildProcess | undefined;
    try {
      // No line fits into it any more.
      expect(() => {
        for (;;) writeSync(pipe, 'x');
      }).toThrow('EAGAIN');
      const [port, managementPort] = [await freePort(), await freePort()];
      const ports = { PORT: String(port), MANAGEMENT_PORT: String(managementPort) };
      service = spawn(process.execPath, [main, 'serve'], {
        env: { ...serviceVariables(database.url), ...ports, LOG_REQUESTS: 'all' },
        stdio: ['ignore', pipe, 'inherit'],
      });
      const ended = once(service, 'exit');
      await until(() => fetch(`http://127.0.0.1:${port}/plants`).then(Boolean, () => false));
      const dropped = async (): Promise<number> => {
        const page = await (await fetch(`http://127.0.0.1:${managementPort}/metrics`)).text();
        return Number(/^plant_store_log_lines_dropped_total (\d+)$/m.exec(page)?.[1]);
      };
      // Each request is answered, however many lines wait.
      const requests = Array.from({ length: 500 }, () => ({ headers: { 'X-Request-Id': 'x'.repeat(128) } }));
      do await Promise.all(Array.from({ length: 8 }, () => sendInTurn(port, requests)));
      while ((await dropped()) < 100);
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      service?.kill('SIGKILL');
      closeSync(pipe);
      await rm(folder, { recursive: true });
      await database.drop();
    }
  });
});
