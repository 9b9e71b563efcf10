import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { CHUNKED, expectRefusal, postHead, RawConnection } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { Stopwatch, until } from '../support/until.js';

const MEBIBYTE = 1024 * 1024;
const CHUNK = '1\r\n \r\n';
const MAX_CONNECTIONS = 500;
// A busy machine takes long to send hundreds of megabytes.
const VARIABLES = { REQUEST_TIMEOUT: '60000', MAX_CONNECTIONS: String(MAX_CONNECTIONS) };

// Linux tells what a process has open, and how much memory it has.
(process.platform === 'linux' ? describe : describe.skip)('A service with hostile clients', () => {
  let service: ManagedService;
  let all: RawConnection[];

  beforeEach(async () => {
    all = [];
    service = await ManagedService.start(VARIABLES);
  });
  afterEach(async () => {
    for (const connection of all) connection.close();
    await service[Symbol.asyncDispose]();
  });

  const restart = async (variables: Record<string, string>): Promise<void> => {
    await service[Symbol.asyncDispose]();
    service = await ManagedService.start({ ...VARIABLES, ...variables });
  };
  const proc = (name: string): string => `/proc/${service.process.pid}/${name}`;
  const descriptors = (): number => readdirSync(proc('fd')).length;
  const peakMebibytes = (): number =>
    Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(proc('status'), 'utf8'))?.[1]) / 1024;
  const open = async (count: number): Promise<RawConnection[]> =>
    (all = await Promise.all(Array.from({ length: count }, () => RawConnection.open(service.process.port))));
  const isOpen = ({ socket }: RawConnection): boolean => !socket.destroyed && !socket.readableEnded;
  const create = async (id: number, name = 'Rose'): Promise<number | undefined> =>
    (await service.process.post(`{"id":${id},"name":"${name}"}`))?.status;

  it('should hold an eighth of its heap of bodies that do not end, and say so', async () => {
    await restart({ BODY_LIMIT: String(MEBIBYTE), NODE_OPTIONS: '--max-old-space-size=512' });
    const body = Buffer.alloc(MEBIBYTE, ' ');
    const refusals = (await open(400)).map((connection) => {
      connection.send(postHead('', body), body.subarray(1));
      return connection.response();
    });
    const response = await Promise.race(refusals);
    expectRefusal(response, 50301, 'contract');
    expect(response?.headers['retry-after']).toMatch(/^[1-9]/);
    // A body that is not large needs no room.
    expect(await create(1)).toBe(200);
    for (const connection of all) connection.close();
    expect(peakMebibytes()).toBeLessThan(400);
    await until(async () => (await create(2, 'x'.repeat(MEBIBYTE / 2))) === 200);
    // What was answered needs no room either, though its connection stays.
    const [kept] = await open(1);
    for (let sent = 0; sent < 200; sent += 1) {
      kept?.send(postHead('', body), body);
      expectRefusal(await kept?.response(), 40002, 'contract');
    }
  });

  it('should hold little of bodies that come in tiny chunks and do not end', async () => {
    const body = postHead('', '', CHUNKED) + CHUNK.repeat(10_900);
    const sent = (await open(300)).map(({ socket }) => new Promise((resolve) => socket.write(body, resolve)));
    await Promise.all(sent);
    expect(await create(1)).toBe(200);
    expect(peakMebibytes()).toBeLessThan(250);
  });

  it('should go on creating plants while ten pipeline requests for a large page, again and again', async () => {
    await restart({ NODE_OPTIONS: '--max-old-space-size=128' });
    const before = descriptors();
    let isOver = false;
    const flood = async (): Promise<void> => {
      while (!isOver) {
        using connection = await RawConnection.open(service.process.port);
        connection.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost:\r\n\r\n'.repeat(5000));
        await connection.closed();
      }
    };
    const floods = Array.from({ length: 10 }, flood);
    using stopwatch = new Stopwatch();
    for (let id = 1; id <= 200; id += 1) expect(await create(id)).toBe(200);
    // Alone on a machine this takes a few seconds. Without the bound one create took seconds, or for ever.
    expect(stopwatch.elapsed).toBeLessThan(60_000);
    isOver = true;
    await Promise.all(floods);
    expect(descriptors()).toBeLessThan(before + 50);
  });

  it('should close connections beyond MAX_CONNECTIONS, log it, and accept others once there are fewer', async () => {
    await open(MAX_CONNECTIONS + 1);
    await service.process.printed(/A client connection was refused: MAX_CONNECTIONS \(500\) are open/);
    await until(() => all.filter(isOpen).length === MAX_CONNECTIONS);
    all.find(isOpen)?.close();
    await until(async () => (await service.process.post('{}').catch(() => undefined)) !== undefined);
  });
});
