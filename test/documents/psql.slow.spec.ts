import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { type BareDatabase, openBareDatabase } from '../support/database/test-database.js';
import { blocksRunBy } from '../support/documents/blocks.js';
import { describeWith } from '../support/jest/describe-with.js';
import { PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/issued-token.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const PORTS = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: '0' };
const PLANTS = [
  '{"id":9007199254740993,"name":"Rose","tag":"flower"}',
  '{"id":-9223372036854775808,"name":"a\\\\\\t\\n\\"\\u0001,\\\\.\\r"}',
  '{"id":9223372036854775807,"name":"🌹","tag":""}',
  '{"id":0,"name":"","tag":"\\\\N"}',
];
/** All that two databases have to have in common, in an order that no collation changes. */
const EVERYTHING = `SELECT
  (SELECT json_agg(json_build_array(id, name, tag, idempotency_key, extract(epoch FROM created_at), created_by, write_id) ORDER BY id)::text
    FROM plants) AS plants,
  (SELECT json_agg(json_build_array(id, name, encode(digest, 'hex'), scopes, extract(epoch FROM created_at), extract(epoch FROM expires_at),
    extract(epoch FROM last_used_at), extract(epoch FROM revoked_at)) ORDER BY id)::text FROM access_tokens) AS tokens`;

const missing =
  spawnSync('psql', ['--version']).status === 0
    ? undefined
    : 'there is no psql. Install it (on Debian: apt-get install postgresql-client).';

describeWith(missing, 'The recipes for psql', () => {
  let folder: string;
  let own: BareDatabase;
  let token: string;
  let service: PlantStoreProcess;

  const serve = (variables: Record<string, string> = {}): Promise<PlantStoreProcess> =>
    new PlantStoreProcess(['serve'], { cwd: folder, variables: { ...PORTS, ...variables } }).listening();
  /** Creates each of the plants, with a key of its own. Returns the answers. */
  const createAll = (): Promise<(string | undefined)[]> =>
    Promise.all(
      PLANTS.map(async (plant, index) => {
        const answer = await service.post(plant, { ...bearer(token), 'Idempotency-Key': `key-${index}` });
        return answer?.body;
      }),
    );
  const command = async (...args: string[]): Promise<PlantStoreProcess> =>
    PlantStoreProcess.run(args, {}, { cwd: folder });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-psql-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    own = await openBareDatabase();
    service = await serve();
    token = (await command('token', 'create', 'shop')).stdout.trim();
    await command('token', 'create', 'gone');
    await command('token', 'revoke', 'gone');
    await createAll();
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** The block of a page, as a user runs it in the folder of the service. */
  async function run(words: string): Promise<string> {
    const blocks = blocksRunBy('test/documents/psql.slow.spec.ts');
    const code = String(blocks.find((block) => block.code.includes(words))?.code);
    const url = new URL(own.url);
    const password = decodeURIComponent(url.password);
    url.password = '';
    const script = code
      .replace('postgresql://plants_owner@db.example.com/plants', `'${url.href}'`)
      .replace('PGPASSWORD=…', `PGPASSWORD='${password}'`);
    const npm = `npm() { '${process.execPath}' '${MAIN}' "\${@:4}"; }`;
    const { PATH, HOME } = process.env;
    const options = { cwd: folder, env: { PATH, HOME } };
    return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', `${npm}\n${script}`], options)).stdout;
  }

  const everything = async ({ query }: Pick<pg.Client, 'query'>): Promise<unknown> => (await query(EVERYTHING)).rows[0];

  async function everythingEmbedded(): Promise<unknown> {
    const client = new pg.Client((await readFile(join(folder, '.data/database-url'), 'utf8')).trim());
    await client.connect();
    return everything({ query: client.query.bind(client) }).finally(() => client.end());
  }

  it('should find the URL of the embedded database in a file for its user alone', async () => {
    expect((await stat(join(folder, '.data/database-url'))).mode & 0o777).toBe(0o600);
  });

  it('should show a plant, the number of plants, and write all of them into a file', async () => {
    const output = await run('TO plants.csv');
    expect(output).toMatch(/^ 9007199254740993 \| Rose \| flower \| 20.* \| shop$/m);
    expect(output).toMatch(/^ +4$/m);
    expect(output).toMatch(/^COPY 4$/m);
    const file = await readFile(join(folder, 'plants.csv'), 'utf8');
    expect(file).toMatch(/^id,name,tag,created_at,created_by\n/);
    expect(file).toMatch(/^9223372036854775807,🌹,"",20.*,shop$/m);
  });

  it('should copy plants and tokens to an own database exactly, once', async () => {
    const output = await run('TO plants.copy');
    expect(output.match(/^COPY \d$/gm)).toEqual(['COPY 4', 'COPY 2', 'COPY 4', 'COPY 2']);
    const before = await everythingEmbedded();
    const query = own.client.query.bind(own.client);
    expect(await everything({ query })).toEqual(before);
    await expect(run('TO plants.copy')).rejects.toThrow('duplicate key');
    expect(await everything({ query })).toEqual(before);
  });

  it('should have the own database answer repetitions as before, and take the tokens and new ones', async () => {
    service.signal('SIGTERM');
    expect(await service.ended).toBe(0);
    service = await serve({ DATABASE_URL: own.url });
    expect(await createAll()).toEqual([
      '{"name":"Rose","tag":"flower"}',
      expect.stringContaining('{"name":"a'),
      '{"name":"🌹","tag":""}',
      '{"name":"","tag":"\\\\N"}',
    ]);
    expect((await service.post(String(PLANTS[0]), bearer(token)))?.body).toContain('"error":40901');
    expect((await service.post('{"id":5,"name":"Oak"}', bearer(token)))?.status).toBe(200);
    const made = await PlantStoreProcess.run('token create new', { DATABASE_URL: own.url }, { cwd: folder });
    expect([made.stderr, await made.ended]).toEqual([expect.stringContaining('Access token new, with the id 3'), 0]);
  });
});
