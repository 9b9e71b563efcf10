import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { CHUNKED, expectRefusal, postHead, RawConnection } from '../support/http/request.js';
import { ManagedService } from '../support/service/process.js';
import { Stopwatch, until } from '../support/until.js';

const MEBIBYTE = 1024 * 1024;
const PIPELINED = 10_000;
/** Nearly as many as a body may have. */
const CHUNKS = 10_900;
const CHUNK = '1\r\n \r\n';
const MAX_CONNECTIONS = 500;

// Linux tells what a process has open, and how much memory it has.
(process.platform === 'linux' ? describe : describe.skip)('A service with hostile clients', () => {
  let service: ManagedService;
  let all: RawConnection[];

  beforeEach(async () => {
    all = [];
    // A busy machine takes long to send hundreds of megabytes.
    service = await ManagedService.start({ REQUEST_TIMEOUT: '60000', MAX_CONNECTIONS: String(MAX_CONNECTIONS) });
  });
  afterEach(async () => {
    closeAll();
    await service[Symbol.asyncDispose]();
  });

  const descriptors = (): number => readdirSync(`/proc/${service.process.pid}/fd`).length;
  const peakMebibytes = (): number => {
    const status = readFileSync(`/proc/${service.process.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  };
  const open = async (count: number): Promise<RawConnection[]> =>
    (all = await Promise.all(Array.from({ length: count }, () => RawConnection.open(service.process.port))));
  const closeAll = (): void => {
    for (const connection of all) connection.close();
  };
  const expectWell = async (id: number): Promise<void> => {
    // Not at once: a check of the database may come late while the service reads megabytes.
    await until(async () => (await service.managed('/readyz')).status === 200);
    expect(await service.process.post(`{"id":${id},"name":"Rose"}`)).toMatchObject({ status: 200 });
  };

  it('should keep its descriptors and its memory if one asks for thousands of files at once', async () => {
    await expectWell(1);
    const before = descriptors();
    const [connection] = await open(1);
    connection?.socket.pause();
    connection?.send('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(PIPELINED));
    await expectWell(2);
    expect(descriptors()).toBeLessThan(before + 20);
    closeAll();
    await until(() => descriptors() <= before + 5);
    expect(peakMebibytes()).toBeLessThan(300);
  });

  it('should hold at most 256 MiB of bodies that do not end, and say so', async () => {
    const body = Buffer.alloc(MEBIBYTE, ' ');
    const refusals = (await open(400)).map((connection) => {
      connection.send(postHead('', body), body.subarray(1));
      return connection.response();
    });
    const response = await Promise.race(refusals);
    expectRefusal(response, 50301, 'contract');
    expect(response?.headers['retry-after']).toMatch(/^[1-9]/);
    // A body that is not large needs no room.
    await expectWell(1);
    closeAll();
    expect(peakMebibytes()).toBeLessThan(600);
    const name = 'x'.repeat(MEBIBYTE / 2);
    await until(async () => (await service.process.post(`{"id":2,"name":"${name}"}`))?.status === 200);
  });

  it('should hold little of bodies that come in tiny chunks and do not end', async () => {
    const body = postHead('', '', CHUNKED) + CHUNK.repeat(CHUNKS);
    const sent = (await open(300)).map(({ socket }) => new Promise((resolve) => socket.write(body, resolve)));
    await Promise.all(sent);
    await expectWell(1);
    expect(peakMebibytes()).toBeLessThan(250);
  });

  it.each([
    ['that carries no credential', postHead('', '', { ...CHUNKED, Authorization: undefined })],
    ['to a page', 'GET /docs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ])('should not read on in the endless chunks of a request %s', async (_, head) => {
    const [connection] = await open(1);
    connection?.send(head);
    expect(await connection?.response()).toMatchObject({ status: expect.any(Number) });
    using stopwatch = new Stopwatch();
    while (connection && !connection.socket.readableEnded && !connection.socket.destroyed) {
      connection.send(CHUNK.repeat(2000));
      await new Promise(setImmediate);
    }
    // Less than the 5 s in which Node may discard a body.
    expect(stopwatch.elapsed).toBeLessThan(4000);
  });

  it.each([
    ['that are refused', 'GET / HTTP/1.1\r\nHost:\r\n\r\n'],
    ['without a Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['with a credential', `${postHead('', '{}')}{}`],
    ['with large fields', `GET / HTTP/1.1\r\nHost:\r\nX-Field: ${'x'.repeat(15_000)}\r\n\r\n`],
    ['for a large page', 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost:\r\n\r\n'],
  ])(
    'should go on creating plants, in a heap of 128 MB, while ten pipeline requests %s and read nothing',
    async (_, request) => {
      await using small = await ManagedService.start({ NODE_OPTIONS: '--max-old-space-size=128' });
      const bytes = request.repeat(65_536 / request.length);
      const attackers = new Set<Socket>();
      const attack = (): void => {
        const attacker = connect(small.process.port, '127.0.0.1');
        const write = (): unknown => attacker.write(bytes) && setImmediate(write);
        const again = (): void => {
          if (attackers.delete(attacker)) attack();
        };
        attackers.add(
          attacker
            .pause()
            .on('error', () => undefined)
            .on('connect', write)
            .on('drain', write)
            .once('close', again),
        );
      };
      for (let i = 0; i < 10; i += 1) attack();
      const times: number[] = [];
      for (let id = 1; id <= 200; id += 1) {
        using stopwatch = new Stopwatch();
        expect(await small.process.post(`{"id":${id},"name":"Rose"}`)).toMatchObject({ status: 200 });
        times.push(stopwatch.elapsed);
      }
      for (const attacker of attackers) attackers.delete(attacker.destroy());
      // Alone on a machine this is below 100 ms. Other suites run beside it. Without the bound it took seconds or for ever.
      expect(times.sort((one, other) => one - other)[190]).toBeLessThan(1000);
    },
  );

  it('should close the newest connection beyond MAX_CONNECTIONS, say so, and accept others once there are fewer', async () => {
    const isOpen = ({ socket }: RawConnection): boolean => !socket.destroyed && !socket.readableEnded;
    await open(MAX_CONNECTIONS + 1);
    await service.process.printed(/A client connection was refused: 500 are open, as many as MAX_CONNECTIONS allows/);
    await until(() => all.filter(isOpen).length === MAX_CONNECTIONS);
    all.find(isOpen)?.close();
    await until(async () => (await service.process.post('{}').catch(() => undefined)) !== undefined);
  });
});
