import { afterEach, describe, expect, it } from '@jest/globals';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { until } from '../support/until.js';

/** The least that a start needs: Node.js opens the files of all modules at once. */
const DESCRIPTORS = 512;
const ROSE = '{"id":1,"name":"Rose"}';

describe('MAX_CONNECTIONS', () => {
  let running: ManagedService;
  const connections: RawConnection[] = [];

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await running[Symbol.asyncDispose]();
  });

  async function open(count: number): Promise<void> {
    const opened = await Promise.all(Array.from({ length: count }, () => RawConnection.open(running.process.port)));
    connections.push(...opened);
  }

  const isOpen = ({ socket }: RawConnection): boolean => !socket.destroyed && !socket.readableEnded;

  it('should close the newest connection beyond it, say so, and accept others once there are fewer', async () => {
    running = await ManagedService.start({ MAX_CONNECTIONS: '3' });
    await open(4);
    await running.process.printed(/A client connection was refused: 3 are open, as many as MAX_CONNECTIONS allows/);
    await until(() => connections.filter(isOpen).length === 3);

    connections.find(isOpen)?.close();
    await until(async () => (await running.process.post(ROSE).catch(() => undefined))?.status !== undefined);
  });

  it('should leave descriptors to the database and the management listener, with any limit of the process', async () => {
    running = await ManagedService.start({ DATABASE_POOL_SIZE: '20' }, { descriptors: DESCRIPTORS });
    const [, limit] = await running.process.printed(/MAX_CONNECTIONS is lowered from 10000 to (\d+)/);
    await open(2 * DESCRIPTORS);
    await until(() => connections.filter(isOpen).length === Number(limit));

    for (const path of ['/livez', '/readyz', '/metrics']) expect((await running.managed(path)).status).toBe(200);
    // At once, so that the pool needs all of its connections.
    const first = connections.filter(isOpen);
    for (const [at, connection] of first.entries()) {
      const body = `{"id":${at + 1},"name":"Rose"}`;
      connection.send(postHead('', body), body);
    }
    for (const connection of first) expect(await connection.response()).toMatchObject({ status: 200 });
    expect(running.process.output).not.toContain('EMFILE');
  });
});
