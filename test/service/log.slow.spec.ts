import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { createTogether, sendInTurn } from '../support/http/request.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { errorOf } from '../support/service/store-instances.js';
import { until } from '../support/until.js';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

type Entry = Record<string, unknown>;

const ONCE = 'an-id-of-the-client';

describe('The log of failures in numbers', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let service: PlantStoreProcess;

  beforeEach(async () => {
    database = await createTestDatabase();
    proxy = await TcpProxy.start(database.url);
    service = await PlantStoreProcess.serve(proxy.url);
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await proxy.close();
    await database.drop();
  });

  /** Has creates fail, and returns their error numbers and how long they took, in seconds begun. */
  async function fail(count: number): Promise<{ numbers: number[]; seconds: number }> {
    const start = performance.now();
    const creates = Array.from({ length: count / 4 }, (_, id) => ({
      body: `{"id":${id},"name":"Rose"}`,
      headers: { 'X-Request-Id': `${ONCE}-${id}` },
    }));
    const answers = await Promise.all([1, 2, 3, 4].map(() => createTogether(service.port, creates)));
    return { numbers: answers.flat().map(errorOf), seconds: Math.ceil((performance.now() - start) / 1000) };
  }

  const failures = (): Entry[] =>
    service.log.filter(({ context, error }) => context !== 'Request' && Number(error) >= 50000);
  const suppressed = (): number => failures().reduce((sum, entry) => sum + Number(entry.suppressed ?? 0), 0);

  it('should have a few lines a second, and the number of the others', async () => {
    proxy.reset();
    const { numbers, seconds } = await fail(800);
    expect(numbers.every((number) => number >= 50300)).toBe(true);
    await until(() => failures().length + suppressed() === 800);

    // Two kinds: the connection is refused, and the queue is full.
    expect(failures().length).toBeLessThanOrEqual(2 * 11 * (seconds + 1));
    expect(service.output.length).toBeLessThan(200_000);
  });
});

describe('The log of a start and its end', () => {
  let database: TestDatabase;
  let service: PlantStoreProcess;

  beforeEach(async () => {
    database = await createTestDatabase();
    service = await PlantStoreProcess.serve(database.url, {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.once('SIGUSR2', () => { throw new Error('unforeseen'); })`)}`,
    });
  });
  afterEach(async () => {
    await service[Symbol.asyncDispose]();
    await database.drop();
  });

  it('should say what was started, with which database, why it stops and how long that took', async () => {
    await service.printed(/Started plant-store .*\n/);
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);

    const { hostname, port, pathname } = new URL(database.url);
    expect(service.log.find(({ message }) => String(message).startsWith('Started'))).toMatchObject({
      level: 'info',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      public: `http://127.0.0.1:${service.port}`,
      management: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      database: expect.stringContaining(`${pathname.slice(1)} at ${hostname}:${port}`),
      schema: expect.any(String),
      databasePoolSize: 10,
      errorStatus: 'contract',
      production: false,
    });
    expect(service.log.slice(-2)).toMatchObject([
      { message: expect.stringMatching(/^Stopping;/), reason: 'SIGTERM' },
      { message: expect.stringMatching(/^Stopped after \d+\.\d s$/), reason: 'SIGTERM', exitCode: 0 },
    ]);
  });

  it('should have the failure that ends the process', async () => {
    service.signal('SIGUSR2');
    expect(await service.ended).not.toBe(0);
    const fatal = service.stdout.split('\n').find((line) => line.includes('"fatal"'));
    expect(JSON.parse(fatal ?? '{}')).toMatchObject({ stack: expect.stringContaining('Error: unforeseen') });
  });
});

describe('A log that nobody reads', () => {
  const script = fileURLToPath(new URL('../support/service/line-writer.mjs', import.meta.url));

  it('should keep nothing waiting, drop lines beyond 4 MiB, and count them in the next one', async () => {
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'] });
    const answers = createInterface(child.stderr)[Symbol.asyncIterator]();
    const log = async (lines: number): Promise<void> => {
      child.stdin.write(`${lines}\n`);
      expect((await answers.next()).value).toBe(String(lines));
    };
    try {
      await log(1000);
      await log(50);
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      // What Node kept has arrived when nothing more comes.
      let length: number;
      do {
        length = text.length;
        await log(0);
      } while (text.length > length);
      await log(1);
      child.stdin.end();
      expect(await once(child, 'close')).toEqual([0, null]);

      const lines = text.trimEnd().split('\n');
      const entries = lines.map((line) => JSON.parse(line) as Entry);
      expect(entries.length).toBeGreaterThan(300);
      expect(entries.length).toBeLessThan(600);
      expect(entries.reduce((sum, { dropped }) => sum + 1 + Number(dropped ?? 0), 0)).toBe(1051);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('should have all that fits when the process ends', async () => {
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'ignore'] });
    const closed = once(child, 'close');
    let text = '';
    child.stdin.end('100\n');
    await once(child.stdout, 'readable');
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    expect(await closed).toEqual([0, null]);
    expect(text.split('\n').length - 1).toBe(100);
  });
});

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
      const port = await freePort();
      service = spawn(process.execPath, [main, 'serve'], {
        env: { ...serviceVariables(database.url), PORT: String(port), LOG_REQUESTS: 'all' },
        stdio: ['ignore', pipe, 'inherit'],
      });
      const ended = once(service, 'exit');
      await until(() => fetch(`http://127.0.0.1:${port}/plants`).then(Boolean, () => false));
      // Each request is answered, however many lines wait: these are more than the 4 MiB that are kept.
      const requests = Array.from({ length: 2000 }, () => ({ headers: { 'X-Request-Id': 'x'.repeat(128) } }));
      await Promise.all(Array.from({ length: 8 }, () => sendInTurn(port, requests)));
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      service?.kill('SIGKILL');
      closeSync(pipe);
      await rm(folder, { recursive: true });
      await database.drop();
    }
  });

  it('should not end the service if its reader has ended', async () => {
    const database = await createTestDatabase();
    const port = await freePort();
    const service = spawn(process.execPath, [main, 'serve'], {
      env: { ...serviceVariables(database.url), PORT: String(port), LOG_REQUESTS: 'all' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(service, 'exit');
    try {
      service.stdout.destroy();
      await until(() => fetch(`http://127.0.0.1:${port}/plants`).then(Boolean, () => false));
      await sendInTurn(
        port,
        Array.from({ length: 10 }, () => ({})),
      );
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      service.kill('SIGKILL');
      await database.drop();
    }
  });
});
