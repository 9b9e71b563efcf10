import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { makeToken } from '../../src/auth/token-format.js';
import { accepts, freePort } from '../support/http/free-port.js';
import { postHead, RawConnection, requestHead, TOKEN } from '../support/http/request.js';
import { CLI, ManagedService, serviceVariables } from '../support/service/process.js';
import { expectWithin, until } from '../support/until.js';

type Entry = Record<string, unknown>;

const NAME = 'a name of nobody else';
const TAG = 'a tag of nobody else';
const ID = '9007199254740993';
const PLANT = `{"id":${ID},"name":"${NAME}","tag":"${TAG}"}`;
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl';
const WRONG = makeToken();
const NO_PLANT = `{"id":"${NAME}","tag":2}`;
/** From a cause, or its end, to the answer of /readyz that says so. */
const MAX_DELAY_MS = 15_000;
/** Throws what nothing handles, when it is told so. */
const UNFORESEEN = encodeURIComponent(`process.once('SIGUSR2', () => { throw new Error('unforeseen'); })`);

/** What sessions begin with is changed, and those that there are end. */
function setting(name: string, value: string): { begin: string; end: string } {
  const change = (how: string): string => `BEGIN READ WRITE; SET LOCAL ROLE NONE;
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${how}', current_database()); END $$; COMMIT; SET ROLE NONE;
    SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  return { begin: change(`SET ${name} TO ${value}`), end: change(`RESET ${name}`) };
}
const REFUSING_TRIGGER = {
  begin: `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a secret'; RETURN NEW; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON plants FOR EACH ROW EXECUTE FUNCTION refuse()`,
  end: 'DROP FUNCTION refuse CASCADE',
};

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
    const line = await lineOf(postHead('', PLANT, headers) + PLANT);
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
      principal: 'static',
      plantId: ID,
    });
    expect(String(line.durationMs)).toMatch(/^\d+(\.\d{1,3})?$/);
  });

  const get = (path: string): string => requestHead(`GET ${path} HTTP/1.1`);
  const message = expect.stringMatching(/^This is not a plant: .*id.*name.*tag/);

  it.each<[string, string, Entry]>([
    ['the fields of what is no plant', postHead('', NO_PLANT) + NO_PLANT, { error: 40003, message }],
    ['tokens in the path', get(`/a/${TOKEN}/${WRONG}/${JWT}`), { path: `/a${'/[access token]'.repeat(3)}` }],
    ['a whole URL', get('http://me:secret@host/trees?secret'), { error: 40400, method: 'GET', path: '/trees' }],
    ['what is no HTTP', 'nonsense\r\n\r\n', { error: 40010 }],
  ])('should have a line on %s', async (_what, bytes, fields) => {
    expect(await lineOf(bytes)).toMatchObject({ client: '127.0.0.1', ...fields });
  });

  it('should end with the reason of the stop, and have no secret, no body and no query', async () => {
    service.process.signal('SIGTERM');
    expect(await service.process.ended).toBe(0);
    const { log, output } = service.process;
    expect(log.at(-1)).toMatchObject({ message: 'Stopped', reason: 'SIGTERM' });
    const { url } = service.database;
    for (const secret of [TOKEN, WRONG, WRONG.slice(6, 26), JWT, NAME, TAG, 'secret', url, new URL(url).password])
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

  it.each([
    {
      trouble: 'the database is read-only',
      ...setting('default_transaction_read_only', 'on'),
      ready: '503 the database accepts no writes: it is a standby, or read-only',
      error: 50300,
      cause: 'in a read-only transaction',
    },
    {
      trouble: 'the role lacks a right',
      ...setting('role', 'pg_monitor'),
      ready: '503 the role lacks a right that a create needs: `plant-store migrate` gives those on the tables',
      error: 50000,
      cause: 'permission denied',
    },
    { trouble: 'a trigger refuses each plant', ...REFUSING_TRIGGER, ready: '200 ok', error: 50000, cause: 'a secret' },
  ])('should say in /readyz $ready if $trouble, and log the cause', async ({ begin, end, ready, error, cause }) => {
    await service.database.query(begin);
    const line = await lineOf(postHead('', PLANT) + PLANT);
    expect(line).toMatchObject({ level: 'info', error, principal: 'static', plantId: ID });
    expect(line.message).not.toContain(cause);
    const causes = service.process.log.filter(({ requestId, stack }) => requestId === line.requestId && stack);
    expect(causes).toEqual([expect.objectContaining({ level: 'error', error, stack: expect.stringContaining(cause) })]);
    await expectReadiness(ready);
    await service.database.query(end);
    await expectReadiness('200 ok');
  });

  it('should log no create and no probe, and the failure that ends the service', async () => {
    expect(await service.process.post(PLANT)).toMatchObject({ status: 200 });
    expect(await service.database.query('SELECT id FROM plants')).toEqual([{ id: ID }]);
    expect(service.process.log.filter(({ error }) => error === 0)).toEqual([]);
    service.process.signal('SIGUSR2');
    expect(await service.process.ended).not.toBe(0);
    const [, fatal = ''] = /^(.*"fatal".*)$/m.exec(service.process.stdout) ?? [];
    expect(JSON.parse(fatal)).toMatchObject({ stack: expect.stringContaining('Error: unforeseen') });
  });

  it('should go on and stop in time if nobody reads its log', async () => {
    const port = await freePort();
    const env = { ...serviceVariables(service.database.url), PORT: String(port), LOG_REQUESTS: 'all' };
    const writer = spawn(process.execPath, [CLI, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await until(() => accepts(port));
      // Their lines are several times what the system keeps for a reader.
      using connection = await RawConnection.open(port);
      for (let sent = 0; sent < 2000; sent += 1) {
        connection.send(postHead('', '{}', { 'X-Request-Id': 'x'.repeat(128) }), '{}');
        expect(await connection.response()).toBeDefined();
      }
      const ended = once(writer, 'exit');
      writer.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      writer.kill('SIGKILL');
      writer.stdout.destroy();
    }
  });
});
