import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { freePort } from '../support/http/free-port.js';
import { createTogether, sendInTurn } from '../support/http/request.js';
import { TcpProxy } from '../support/http/tcp-proxy.js';
import { PlantStoreProcess, serviceVariables } from '../support/service/process.js';
import { errorOf } from '../support/service/store-instances.js';
import { until } from '../support/until.js';

const DIST = new URL('../../dist/', import.meta.url);

type Entry = Record<string, unknown>;

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

describe('The log', () => {
  it('should have a few lines a second of failures in numbers, and the number of the others', async () => {
    const proxy = await TcpProxy.start(database.url);
    await using service = await PlantStoreProcess.serve(proxy.url);
    const failures = (): Entry[] =>
      service.log.filter(({ context, error }) => context !== 'Request' && Number(error) >= 50000);
    const suppressed = (): number => failures().reduce((sum, entry) => sum + Number(entry.suppressed ?? 0), 0);

    proxy.reset();
    const start = performance.now();
    const creates = Array.from({ length: 200 }, (_, id) => ({ body: `{"id":${id},"name":"Rose"}` }));
    const answers = await Promise.all([1, 2, 3, 4].map(() => createTogether(service.port, creates)));
    const seconds = Math.ceil((performance.now() - start) / 1000);
    expect(answers.flat().every((answer) => errorOf(answer) >= 50300)).toBe(true);
    await until(() => failures().length + suppressed() === 800);

    // Two kinds: the connection is refused, and the queue is full.
    expect(failures().length).toBeLessThanOrEqual(2 * 11 * (seconds + 1));
    expect(service.output.length).toBeLessThan(200_000);
    await proxy.close();
  });

  it('should say what was started, with which database, why it stops and how long that took', async () => {
    await using service = await PlantStoreProcess.serve(database.url);
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
    const script = encodeURIComponent(`process.once('SIGUSR2', () => { throw new Error('unforeseen'); })`);
    const NODE_OPTIONS = `--import=data:text/javascript,${script}`;
    await using service = await PlantStoreProcess.serve(database.url, { NODE_OPTIONS });
    service.signal('SIGUSR2');
    expect(await service.ended).not.toBe(0);
    const fatal = service.stdout.split('\n').find((line) => line.includes('"fatal"'));
    expect(JSON.parse(fatal ?? '{}')).toMatchObject({ stack: expect.stringContaining('Error: unforeseen') });
  });
});

describe('A log that nobody reads', () => {
  // Logs as many long lines as each line of standard input says, and then says so on standard error.
  const WRITER = `
    import { createInterface } from 'node:readline';
    import { ServiceLogger } from '${new URL('service/logger.js', DIST).href}';
    const logger = new ServiceLogger({ LOG_LEVEL: 'info', LOG_REQUESTS: 'all' });
    for await (const count of createInterface(process.stdin)) {
      for (let i = 0; i < Number(count); i++) logger.log('x'.repeat(10_000), 'Request');
      console.error(count);
    }`;

  it('should keep nothing waiting, drop lines beyond 4 MiB, count them in the next one, and keep the others to the end', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER], { stdio: ['pipe', 'pipe', 'pipe'] });
    const answers = createInterface(child.stderr)[Symbol.asyncIterator]();
    const log = async (lines: number): Promise<void> => {
      child.stdin.write(`${lines}\n`);
      expect((await answers.next()).value).toBe(String(lines));
    };
    try {
      await log(1050);
      let text = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      // There is room for another line again, and most lines still wait.
      await until(() => text.length > 1_000_000);
      await log(1);
      child.stdin.end();
      expect(await once(child, 'close')).toEqual([0, null]);

      const entries = text.trimEnd().split('\n');
      expect(entries.length).toBeGreaterThan(300);
      expect(entries.length).toBeLessThan(600);
      const dropped = entries.map((line) => Number((JSON.parse(line) as Entry).dropped ?? 0));
      expect(dropped.reduce((sum, count) => sum + 1 + count, 0)).toBe(1051);
    } finally {
      child.kill('SIGKILL');
    }
  });

  /** A service that logs every request into what it is given, and answers. */
  async function serve(stdout: number | 'pipe'): Promise<{ service: ChildProcess; port: number }> {
    const port = await freePort();
    const service = spawn(process.execPath, [new URL('main.js', DIST).pathname, 'serve'], {
      env: { ...serviceVariables(database.url), PORT: String(port), LOG_REQUESTS: 'all' },
      stdio: ['ignore', stdout, 'inherit'],
    });
    service.stdout?.destroy();
    await until(() => fetch(`http://127.0.0.1:${port}/plants`).then(Boolean, () => false));
    return { service, port };
  }

  it('should hold up no request of a service that logs them all, and not keep it when it stops', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-log-'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const pipe = openSync(join(folder, 'pipe'), constants.O_RDWR | constants.O_NONBLOCK);
    // No line fits into it any more.
    expect(() => {
      for (;;) writeSync(pipe, 'x');
    }).toThrow('EAGAIN');
    const { service, port } = await serve(pipe);
    try {
      // Each request is answered, however many lines wait: these are more than the 4 MiB that are kept.
      const requests = Array.from({ length: 2000 }, () => ({ headers: { 'X-Request-Id': 'x'.repeat(128) } }));
      await Promise.all(Array.from({ length: 8 }, () => sendInTurn(port, requests)));
      const ended = once(service, 'exit');
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      service.kill('SIGKILL');
      closeSync(pipe);
      await rm(folder, { recursive: true });
    }
  });

  it('should not end the service if its reader has ended', async () => {
    const { service, port } = await serve('pipe');
    try {
      await sendInTurn(port, [{}, {}, {}]);
      const ended = once(service, 'exit');
      service.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      service.kill('SIGKILL');
    }
  });
});
