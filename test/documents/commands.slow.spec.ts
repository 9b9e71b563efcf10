import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { blocksIn, COMMANDS, ROOT } from '../support/documents/pages.js';
import { freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';
import { OidcIssuer } from '../support/tokens/oidc-issuer.js';
import { until } from '../support/until.js';

const missing = ['bash', 'curl', 'jq', 'psql'].filter((name) => spawnSync('which', [name]).status !== 0);
const reason = missing.length > 0 ? `${missing.join(' and ')} cannot be found.` : undefined;
const isPsql = ({ code }: { code: string }): boolean => code.includes('.data/database-url');

/** Runs a script in a folder, in which `plant-store` is the one of the build. @returns what it writes to standard output and error */
async function run(folder: string, script: string, variables: Record<string, string> = {}): Promise<string[]> {
  const functions = `
    plant-store() { '${process.execPath}' '${ROOT}dist/main.js' "$@"; }
    npm() { plant-store "\${@:4}"; }
    store() { plant-store "$@"; }
    manage() { curl -s -w '\\n' "http://127.0.0.1:$MANAGEMENT_PORT/$1"; }
    sql() { psql -X "$DATABASE_URL" "$@"; }
    logs() { cat service.log; }`;
  const { PATH, HOME } = process.env;
  const options = { cwd: folder, env: { PATH, HOME, PAGER: 'cat', ...variables } };
  const { stdout, stderr } = await promisify(execFile)('bash', ['-euc', `${functions}\n${script}`], options);
  return [stdout, stderr];
}

async function openFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'plant-store-pages-'));
  // Or root's server, which runs as another user, would have its data outside of it.
  await chmod(folder, 0o755);
  return folder;
}

describeWith(reason, 'The commands of the pages', () => {
  let folder: string;
  let database: TestDatabase;
  let issuer: OidcIssuer;
  let service: PlantStoreProcess;
  let variables: Record<string, string>;

  const create = (token: string, body = '{"id":5,"name":"Rose"}'): Promise<unknown> =>
    service.post(body, { Authorization: `Bearer ${token}` });

  beforeAll(async () => {
    folder = await openFolder();
    database = await createTestDatabase();
    issuer = await OidcIssuer.start();
    const MANAGEMENT_PORT = String(await freePort());
    variables = { DATABASE_URL: database.url, MANAGEMENT_PORT, ...issuer.variables };
    service = await PlantStoreProcess.serve(database.url, { ...variables, LOG_LEVEL: 'info' });
    // What the log and the metrics have to show: a plant, its repetition, a wrong token, a failure.
    for (const token of [TOKEN, TOKEN, 'a-wrong-token-of-a-client']) await create(token);
    await database.query('ALTER TABLE plants RENAME TO lost_plants');
    await create(TOKEN);
    await database.query('ALTER TABLE lost_plants RENAME TO plants');
    await until(() => service.stdout.includes('"error":50000'));
    await writeFile(join(folder, 'service.log'), service.stdout);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it.each(COMMANDS.filter((block) => !isPsql(block)).map(({ page, code }) => [page, code]))(
    'should run: %s, %s',
    async (_, code) => {
      const script = code.replace('localhost:3000', `127.0.0.1:${service.port}`).replace('shop:', `${issuer.client}:`);
      const [stdout, stderr] = await run(folder, script, { ...variables, CLIENT_SECRET: issuer.secret });
      expect(stderr).not.toMatch(/error|not found|plant-store: /i);
      // Those that only set variables print nothing.
      if (/^\w+ /m.test(code.replaceAll(/^export .*$/gm, ''))) expect(stdout).toMatch(/\w/);
      if (code.includes('TOKEN_URL')) expect(stdout).toBe('{"name":"Rose"}');
      if (code.includes('token create')) expect(stderr).toContain('Access token shop, with the id 1');
      if (code.includes('40101')) expect(stdout).toMatch(/"error": 40101,[^]*1 127\.0\.0\.1/);
    },
  );

  it('should correct a plant, and delete it', async () => {
    const id = '9007199254740993';
    await create(TOKEN, `{"id":${id},"name":"Rsoe"}`);
    const block = blocksIn('sql').find(({ code }) => code.includes('DELETE FROM plants'));
    const [found, corrected, deleted, ...more] = String(block?.code).trim().split('\n');
    for (const [statement, name] of [
      [found, 'Rsoe'],
      [corrected, 'Rose'],
      [deleted, 'Rose'],
    ])
      expect(await database.query(String(statement))).toMatchObject([{ id, name }]);
    expect([await database.query(String(found)), more]).toEqual([[], []]);
  });

  it('should get the answer of the page on errors', async () => {
    const documented = blocksIn('json').find(({ page }) => page === 'docs/errors.md');
    expect(await create(TOKEN)).toMatchObject({
      status: 400,
      body: JSON.stringify(JSON.parse(String(documented?.code))),
    });
  });
});

describeWith(reason, 'The recipes for psql', () => {
  const plants = [
    '{"id":9007199254740993,"name":"Rose","tag":"flower"}',
    '{"id":-9223372036854775808,"name":"a\\\\\\t\\n\\"\\u0001,\\\\.\\r"}',
    '{"id":9223372036854775807,"name":"🌹","tag":""}',
  ];
  let folder: string;
  let own: TestDatabase;
  let service: PlantStoreProcess;
  let token: string;

  const serve = (variables: Record<string, string> = {}): Promise<PlantStoreProcess> => {
    const all = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0', ...variables };
    return new PlantStoreProcess(['serve'], { cwd: folder, variables: all }).listening();
  };
  const createAll = (): Promise<(string | undefined)[]> =>
    Promise.all(
      plants.map(async (plant, index) => {
        return (await service.post(plant, { ...bearer(token), 'Idempotency-Key': `key-${index}` }))?.body;
      }),
    );
  const recipe = (words: string): Promise<string[]> => {
    const block = COMMANDS.find((each) => isPsql(each) && each.code.includes(words));
    const url = new URL(own.url);
    const { password } = url;
    url.password = '';
    const script = String(block?.code)
      .replace('postgresql://plants_owner@db.example.com/plants', url.href)
      .replace('=…', `=${password}`);
    return run(folder, script);
  };
  /** All rows of the two tables, as text. */
  async function everythingIn(url: string): Promise<unknown> {
    const client = new pg.Client(url);
    await client.connect();
    const all = ['plants', 'access_tokens'].map((table) => `SELECT t::text FROM ${table} t ORDER BY id;`).join('');
    return client.query(all).finally(() => client.end());
  }

  beforeAll(async () => {
    folder = await openFolder();
    own = await createTestDatabase({ migrated: false });
    service = await serve();
    token = (await run(folder, 'plant-store token create shop && plant-store token create gone >&2'))[0]?.trim() ?? '';
    await run(folder, 'plant-store token revoke gone');
    await createAll();
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await own.drop();
    await rm(folder, { recursive: true });
  });

  it('should show a plant and their number, and write all of them to a file', async () => {
    const [output] = await recipe('plants.csv');
    expect(output).toMatch(/^ 9007199254740993 \| Rose \| flower \| 20.* \| shop\n[^]*^ +3\n[^]*^COPY 3$/m);
    expect(await readFile(join(folder, 'plants.csv'), 'utf8')).toMatch(/^9223372036854775807,🌹,"",20.*,shop$/m);
  });

  it('should copy plants and tokens to an own database exactly, which goes on as before', async () => {
    const file = join(folder, '.data/database-url');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await recipe('plants.copy'))[0]?.match(/^COPY \d$/gm)).toEqual(['COPY 3', 'COPY 2', 'COPY 3', 'COPY 2']);
    const embedded = await everythingIn((await readFile(file, 'utf8')).trim());
    expect(JSON.stringify(await everythingIn(own.url))).toBe(JSON.stringify(embedded));
    await expect(recipe('plants.copy')).rejects.toThrow('duplicate key');

    const answers = await createAll();
    await service[Symbol.asyncDispose]();
    service = await serve({ DATABASE_URL: own.url });
    expect(await createAll()).toEqual(answers);
    expect((await service.post('{"id":5,"name":"Oak"}', bearer(token)))?.status).toBe(200);
    const [, made] = await run(folder, 'plant-store token create new', { DATABASE_URL: own.url });
    expect(made).toContain('Access token new, with the id 3');
  });
});
