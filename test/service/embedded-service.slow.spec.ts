import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { CreatingClients } from '../support/http/creating-clients.js';
import { TOKEN } from '../support/http/request.js';
import { isAlive, PlantStoreProcess } from '../support/service/process.js';
import { until } from '../support/until.js';

const CLIENTS = 16;
const KILLS = 3;
const ENOUGH_PLANTS = 300;
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const VARIABLES = { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0' };

describe('The embedded PostgreSQL of a service', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-restart-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const serve = (): Promise<PlantStoreProcess> =>
    new PlantStoreProcess(['serve'], { cwd: folder, variables: VARIABLES }).listening();

  /** The process of the server; 0 while there is none. */
  async function postmaster(): Promise<number> {
    const text = await readFile(join(folder, '.data/postgres/postmaster.pid'), 'utf8').catch(() => '');
    const pid = Number(text.split('\n')[0]);
    return text.includes('ready') && isAlive(pid) ? pid : 0;
  }

  it('should be open to this machine alone unless HOST says otherwise', async () => {
    await using service = await serve();
    expect(service.output).toMatch(/Listening on http:\/\/127\.0\.0\.1:\d+\/plants/);
    await service.printed(/Only this machine can connect: HOST=0\.0\.0\.0/);
    await expect(fetch(`http://127.0.0.2:${service.port}/docs`)).rejects.toThrow();
    expect((await fetch(`http://127.0.0.1:${service.port}/docs`)).status).toBe(200);
  });

  it('should end the service with a message if it is killed, and have every acknowledged plant at the next start', async () => {
    const created: number[] = [];
    for (let kill = 0; kill < KILLS; kill++) {
      await using service = await serve();
      await using clients = new CreatingClients(service.port, CLIENTS, 1 + kill * 1_000_000);
      await until(() => clients.created.length >= ENOUGH_PLANTS);
      process.kill(await postmaster(), 'SIGKILL');

      expect(await service.ended).toBe(1);
      expect(service.stderr).toMatch(
        /^plant-store: The embedded PostgreSQL has ended by itself \(SIGKILL\): .* start again\.\n$/,
      );
      await clients.stop();
      created.push(...clients.created);
    }
    await using service = await serve();
    const client = new pg.Client((await readFile(join(folder, '.data/database-url'), 'utf8')).trim());
    await client.connect();
    const { rows } = await client.query<{ id: string }>('SELECT id FROM plants');
    await client.end();
    const stored = new Set(rows.map(({ id }) => Number(id)));
    expect(created.filter((id) => !stored.has(id))).toEqual([]);
    const last = await postmaster();
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(isAlive(last)).toBe(false);
  }, 120_000);

  it('should end with the service at SIGHUP, and at a second signal', async () => {
    {
      await using service = await serve();
      const pid = await postmaster();
      service.signal('SIGHUP');
      expect(await service.ended).toBe(0);
      expect(isAlive(pid)).toBe(false);
      expect(service.stdout).toMatch(/"Stopping; .*"reason":"SIGHUP"/);
    }
    await using service = await serve();
    const pid = await postmaster();
    // It holds the stop back.
    const response = fetch(`http://127.0.0.1:${service.port}/plants`, {
      method: 'POST',
      body: new ReadableStream({}),
      duplex: 'half',
    });
    response.catch(() => undefined);
    service.signal('SIGHUP');
    const again = setInterval(() => {
      service.signal('SIGHUP');
    }, 50);
    await service.ended;
    clearInterval(again);
    await until(() => !isAlive(pid));
  });

  it('should end with the service if the terminal is closed', async () => {
    // A new session on a terminal of its own, as a window has it. At the end of the input the window is closed.
    const script = `
import os, pty, sys, threading
pid, terminal = pty.fork()
if pid == 0:
    os.execvp('sh', ['sh', '-c', '"$0" "$@"; true', *sys.argv[1:]])
def read():
    try:
        while True:
            sys.stdout.buffer.write(os.read(terminal, 4096)); sys.stdout.flush()
    except OSError:
        pass
threading.Thread(target=read, daemon=True).start()
sys.stdin.read()
os.close(terminal)
os._exit(0)
`;
    const { PATH, HOME } = process.env;
    const window = spawn('python3', ['-c', script, process.execPath, MAIN, 'serve'], {
      cwd: folder,
      env: { PATH, HOME, TERM: 'xterm', npm_lifecycle_event: 'start', ...VARIABLES },
    });
    let output = '';
    window.stdout.on('data', (data: Buffer) => (output += data.toString()));
    await until(() => output.includes('database-url'));
    const pid = await postmaster();
    const service = Number(/"pid":(\d+)/.exec(output)?.[1]);
    const closed = once(window, 'close');
    window.stdin.end();
    await closed;
    await until(() => !isAlive(service) && !isAlive(pid));
    await expect(readFile(join(folder, '.data/postgres/postmaster.pid'))).rejects.toThrow('ENOENT');
  });
});
