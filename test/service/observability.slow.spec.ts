import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeToken } from '../../src/auth/token-format.js';
import { freePort } from '../support/http/free-port.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { postHead, requestHead, sendInTurn, TOKEN } from '../support/http/request.js';
import { CLI, ManagedService, serviceVariables } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { expectWithin, until } from '../support/until.js';

type Entry = Record<string, unknown>;

const NAME = 'a name of nobody else';
const TAG = 'a tag of nobody else';
const ID = '9007199254740993';
const plant = (id = ID): string => `{"id":${id},"name":"${NAME}","tag":"${TAG}"}`;
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
const WRONG = makeToken();
const NO_PLANT = '{"id":"1","tag":2}';
/** From a cause, or its end, to the answer of /readyz that says so. */
const MAX_DELAY_MS = 15_000;
/** Throws what nothing handles, when it is told so. */
const UNFORESEEN = encodeURIComponent(`process.once('SIGUSR2', () => { throw new Error('unforeseen'); })`);
const run = promisify(execFile);

let service: ManagedService;

function useService(variables: Record<string, string>): void {
  beforeAll(async () => {
    service = await ManagedService.start(variables);
  });
  afterAll(() => service[Symbol.asyncDispose]());
}

/** Sends the bytes, and returns the line under the id of the answer. */
async function lineOf(bytes: string): Promise<Entry> {
  using connection = await RawConnection.open(service.process.port);
  connection.send(bytes);
  const id = (await connection.response())?.headers['x-request-id'] ?? '';
  const [line] = await service.process.printed(new RegExp(`^.*"context":"Request".*"requestId":"${id}".*\n`, 'm'));
  return JSON.parse(line) as Entry;
}

describe('The log of all requests', () => {
  useService({ LOG_REQUESTS: 'all' });

  it('should have all that is known of a create', async () => {
    const headers = { 'X-Request-Id': 'chosen', 'X-Forwarded-For': '192.0.2.7' };
    const line = await lineOf(postHead('', plant(), headers) + plant());
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'info',
      context: 'Request',
      message: 'Answered',
      requestId: 'chosen',
      client: '127.0.0.1',
      forwardedFor: '192.0.2.7',
      method: 'POST',
      path: '/plants',
      error: 0,
      durationMs: expect.any(Number),
      token: 'static',
      plantId: ID,
    });
    expect(String(line.durationMs)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  const of = (path: string, headers = {}): string => requestHead(`GET ${path} HTTP/1.1`, headers);
  const message = expect.stringMatching(/^This is not a plant: .*id.*name.*tag/);

  it.each<[string, string, Entry]>([
    ['the fields of what is no plant', postHead('', NO_PLANT) + NO_PLANT, { error: 40003, message }],
    ['a wrong token', postHead('', plant(), bearer(WRONG)) + plant(), { error: 40101, path: '/plants' }],
    ['tokens in the path', of(`/a/${TOKEN}/${WRONG}/${JWT}`), { path: `/a${'/[access token]'.repeat(3)}` }],
    ['a token from a proxy', of('/', { 'X-Forwarded-For': `a ${WRONG}` }), { forwardedFor: 'a [access token]' }],
    ['a whole URL', of('http://me:secret@host/trees?secret'), { error: 40400, method: 'GET', path: '/trees' }],
    ['a long path', of(`/${'x'.repeat(3000)}`), { path: `/${'x'.repeat(498)}…` }],
    ['what is no HTTP', 'nonsense\r\n\r\n', { error: 40010 }],
  ])('should have a line on %s', async (_what, bytes, fields) => {
    expect(await lineOf(bytes)).toMatchObject({ client: '127.0.0.1', ...fields });
  });

  it('should say what was started and why it stops, and have no secret, no body and no query', async () => {
    service.process.signal('SIGTERM');
    expect(await service.process.ended).toBe(0);
    const { url } = service.database;
    const { hostname, port, pathname, password } = new URL(url);
    const { log, output } = service.process;
    expect(log.find(({ message: text }) => String(text).startsWith('Started plant-store'))).toMatchObject({
      level: 'info',
      public: `http://127.0.0.1:${service.process.port}`,
      management: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      database: expect.stringContaining(`${pathname.slice(1)} at ${hostname}:${port}`),
      production: false,
    });
    expect(log.slice(-2)).toMatchObject([
      { message: expect.stringMatching(/^Stopping;/), reason: 'SIGTERM' },
      { message: expect.stringMatching(/^Stopped after \d+\.\d s$/), reason: 'SIGTERM', exitCode: 0 },
    ]);
    for (const secret of [TOKEN, WRONG, WRONG.slice(6, 26), JWT, NAME, TAG, 'secret', url, password])
      if (secret !== '') expect(output).not.toContain(secret);
  });
});

describe('A service in trouble', () => {
  useService({ NODE_OPTIONS: `--import=data:text/javascript,${UNFORESEEN}` });

  /** Asks often, as several balancers do. */
  const expectReadiness = (answer: string): Promise<void> =>
    expectWithin(MAX_DELAY_MS, async () => {
      const response = await service.managed('/readyz');
      const { status, reason } = (await response.json()) as { status: string; reason?: string };
      return `${response.status} ${reason ?? status}` === answer;
    });
  /** Changes what sessions begin with, and ends those that there are. */
  const configure = (change: string): Promise<unknown> =>
    service.database.query(`BEGIN READ WRITE; SET LOCAL ROLE NONE;
      DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$; COMMIT; SET ROLE NONE;
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`);

  it.each([
    ['default_transaction_read_only TO on', 'the database accepts no writes: it is a standby, or read-only', 50300],
    [
      'role TO pg_monitor',
      'the role lacks a right that a create needs: `plant-store migrate` gives those on the tables',
      50000,
    ],
  ])('should not be ready with %s, and say why, until that is over', async (setting, reason, error) => {
    await configure(`SET ${setting}`);
    await expectReadiness(`503 ${reason}`);
    expect((await service.process.post(plant()))?.body).toContain(`"error":${error}`);
    await configure(`RESET ${setting.split(' ', 1).join()}`);
    await expectReadiness('200 ok');
  });

  it('should be degraded if a trigger refuses each plant, and have the cause in the log alone, under the id of the answer', async () => {
    expect(await service.process.post(plant())).toMatchObject({ status: 200 });
    await service.database.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a secret'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const degraded = 'degraded: a constraint, trigger or policy of the table plants refuses an ordinary plant';
    await expectReadiness(`200 ${degraded} (SQLSTATE P0001)`);
    const line = await lineOf(postHead('', plant('2')) + plant('2'));
    expect(line).toMatchObject({ level: 'info', error: 50000, token: 'static', plantId: '2' });
    const [cause] = service.process.log.filter(({ requestId }) => requestId === line.requestId);
    expect(cause).toMatchObject({ level: 'error', error: 50000, stack: expect.stringContaining('a secret') });
    await service.database.query('DROP FUNCTION refuse CASCADE');
    await expectReadiness('200 ok');
    // Neither the create nor a probe leaves a line.
    expect(service.process.log.filter(({ error }) => error === 0)).toEqual([]);
    expect(await service.database.query('SELECT id FROM plants')).toEqual([{ id: ID }]);
  });

  // Only root can mount one.
  (process.getuid?.() === 0 ? it : it.skip)(
    'should not be ready while the disk is full, also for small plants',
    async () => {
      const [row] = await service.database.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
      // The server may run as another user.
      const { uid, gid } = await stat(row?.data ?? '');
      const folder = await mkdtemp(join(tmpdir(), 'plant-store-disk-'));
      const space = `space_${randomBytes(4).toString('hex')}`;
      await run('mount', ['-t', 'tmpfs', '-o', `size=2m,uid=${uid},gid=${gid},mode=700`, 'tmpfs', folder]);
      try {
        await service.database.query(`CREATE TABLESPACE ${space} LOCATION '${folder}'`);
        await service.database.query(`ALTER TABLE plants SET TABLESPACE ${space}`);
        let id = 100;
        const post = async (): Promise<number | undefined> => {
          const name = randomBytes(20_000).toString('hex');
          return (await service.process.post(`{"id":${++id},"name":"${name}"}`))?.status;
        };
        await until(async () => (await post()) !== 200);
        for (let time = 1; time <= 2; time++) await expectReadiness('503 the disk of the database is full');
        await run('mount', ['-o', 'remount,size=16m', folder]);
        await expectReadiness('200 ok');
        expect(await post()).toBe(200);
        await service.database.query('ALTER TABLE plants SET TABLESPACE pg_default');
        await service.database.query(`DROP TABLESPACE ${space}`);
      } finally {
        await run('umount', ['--lazy', folder]);
        await rm(folder, { recursive: true });
      }
    },
  );

  it('should log the failure that ends it', async () => {
    service.process.signal('SIGUSR2');
    expect(await service.process.ended).not.toBe(0);
    const [, fatal = ''] = /^(.*"fatal".*)$/m.exec(service.process.stdout) ?? [];
    expect(JSON.parse(fatal)).toMatchObject({ stack: expect.stringContaining('Error: unforeseen') });
  });

  it.each(['waits', 'has ended'])(
    'should hold up no request, nor the stop, if the reader of its log %s',
    async (what) => {
      const port = await freePort();
      const env = { ...serviceVariables(service.database.url), PORT: String(port), LOG_REQUESTS: 'all' };
      const writer = spawn(process.execPath, [CLI, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      if (what === 'has ended') writer.stdout.destroy();
      try {
        await until(() => fetch(`http://127.0.0.1:${port}/plants`).then(Boolean, () => false));
        // Their lines are several times what the system keeps for a reader.
        await sendInTurn(port, Array(2000).fill({ headers: { 'X-Request-Id': 'x'.repeat(128) } }));
        const ended = once(writer, 'exit');
        writer.kill('SIGTERM');
        expect(await ended).toEqual([0, null]);
      } finally {
        writer.kill('SIGKILL');
        writer.stdout.destroy();
      }
    },
  );
});
