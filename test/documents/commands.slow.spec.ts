import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { execFile, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { blocksIn, ROOT } from '../support/documents/documents.js';
import { endServer, freePort } from '../support/http/free-port.js';
import { TOKEN } from '../support/http/request.js';
import { describeWith, PlantStoreProcess } from '../support/service/process.js';
import { bearer } from '../support/tokens/tokens.js';
import { until } from '../support/until.js';

/** Starts an OpenID provider that is set up as the page on authentication says, with a client called shop. */
async function startIssuer(issuer: string, audience: string, client_secret: string): Promise<Server> {
  // It warns of a version of Node.js that the store supports, and of what is for development only, such as its keys.
  const warnings = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
  const { Provider } = await import('oidc-provider');
  const grant = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
  const resource = { scope: 'plants:create', audience, accessTokenFormat: 'jwt' } as const;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'shop', client_secret, ...grant }],
    // Without it the provider prints a notice.
    ttl: { ClientCredentials: 600 },
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'https://plants.example',
        getResourceServerInfo: () => resource,
      },
    },
  });
  warnings.mockRestore();
  return provider.listen(Number(new URL(issuer).port), '127.0.0.1');
}

const missing = ['bash', 'curl', 'jq', 'psql'].filter((name) => spawnSync('which', [name]).status !== 0);
/** What no test has: root, a container engine, a registry, a name in DNS. */
const ELSEWHERE = /\b(?:docker|sudo|useradd|git pull|npm (?:ci|install)|install -|caddy|haproxy)/;
const isPsql = (code: string): boolean => code.includes('.data/database-url');
/** The README has a suite of its own, and the page on faults says how it is written. */
const BLOCKS = blocksIn('sh').filter(({ page, code }) => !/README|faults/.test(page) && !ELSEWHERE.test(code));
const PLANTS = [
  '{"id":9007199254740993,"name":"Rose","tag":"flower"}',
  '{"id":-9223372036854775808,"name":"a\\\\\\t\\n\\"\\u0001,\\\\.\\r"}',
  '{"id":9223372036854775807,"name":"🌹","tag":""}',
];
/** What a reader has pasted, and the programs of the pages. */
const FUNCTIONS = `
  plant-store() { '${process.execPath}' '${ROOT}dist/cli.js' "$@"; }
  npm() { plant-store "\${@:4}"; }
  store() { plant-store "$@"; }
  manage() { curl -s -w '\\n' "http://127.0.0.1:$MANAGEMENT_PORT/$1"; }
  sql() { psql -X "$(cat .data/database-url)" "$@"; }
  logs() { cat service.log; }
`;

describeWith(missing.length > 0 ? `${missing.join()} cannot be found.` : undefined, 'The commands of the pages', () => {
  let folder: string;
  let issuer: Server;
  let own: TestDatabase;
  let service: PlantStoreProcess;
  let variables: Record<string, string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plant-store-pages-'));
    // Or root's server, which runs as another user, would have its data outside of it.
    await chmod(folder, 0o755);
    const JWT_ISSUER = `http://127.0.0.1:${await freePort()}`;
    const jwts = { JWT_ISSUER, JWT_AUDIENCE: 'plants', CLIENT_SECRET: 'a-secret' };
    issuer = await startIssuer(JWT_ISSUER, jwts.JWT_AUDIENCE, jwts.CLIENT_SECRET);
    own = await createTestDatabase({ migrated: false });
    variables = { HOST: '127.0.0.1', PORT: '0', MANAGEMENT_PORT: String(await freePort()), ...jwts };
    const settings = { cwd: folder, variables: { ...variables, ACCESS_TOKENS: TOKEN } };
    service = await new PlantStoreProcess(['serve'], settings).listening();
    const token = (await run('plant-store token create shop'))[0]?.trim() ?? '';
    await run('plant-store token create gone && plant-store token revoke gone');
    for (const plant of PLANTS) await service.post(plant, { ...bearer(token), 'Idempotency-Key': 'key' });
    // What the log and the metrics have to show besides: a wrong token and a failure.
    await service.post(String(PLANTS[0]), bearer('a-wrong-token-of-a-client'));
    await run('sql -c "ALTER TABLE plants RENAME TO lost"');
    await service.post('{"id":1,"name":"Lost"}', bearer(token));
    await run('sql -c "ALTER TABLE lost RENAME TO plants"');
    await until(() => service.stdout.includes('"error":50000'));
    // Without the summary of a start with the embedded database.
    await writeFile(join(folder, 'service.log'), service.stdout.match(/^\{.*\n/gm)?.join('') ?? '');
  });
  afterAll(async () => {
    // With its database, which would go on for a moment after a kill.
    service.signal('SIGTERM');
    await service.ended;
    await endServer(issuer);
    await own.drop();
    await rm(folder, { recursive: true });
  });

  /** Resolves to what a script writes to standard output and to standard error. */
  async function run(script: string, others: Record<string, string> = {}): Promise<string[]> {
    const { PATH, HOME } = process.env;
    const env = { PATH, HOME, ...variables, ...others };
    const { stdout, stderr } = await promisify(execFile)('bash', ['-ec', FUNCTIONS + script], { cwd: folder, env });
    return [stdout, stderr];
  }

  function recipe(words: string): Promise<string[]> {
    const { password, host, pathname, username } = new URL(own.url);
    const url = `postgresql://${username}@${host}${pathname}`;
    const code = String(BLOCKS.find((block) => isPsql(block.code) && block.code.includes(words))?.code);
    const script = code.replace('postgresql://plants_owner@db.example.com/plants', url);
    return run(script.replace('PGPASSWORD=…', `PGPASSWORD='${password}'`));
  }

  it('should show a plant and their number, and write all of them to a file', async () => {
    const [output] = await recipe('plants.csv');
    expect(output).toMatch(/^ 9007199254740993 \| Rose \| flower \| 20.* \| shop\n[^]*^ +3\n[^]*^COPY 3$/m);
    expect(await readFile(join(folder, 'plants.csv'), 'utf8')).toMatch(/^9223372036854775807,🌹,"",20.*,shop$/m);
  });

  it('should copy plants to an own database exactly, and once', async () => {
    expect((await recipe('plants.copy'))[0]?.match(/^COPY \d$/gm)).toEqual(['COPY 3', 'COPY 3']);
    const rows = 'SELECT p::text FROM plants p ORDER BY id';
    const [embedded] = await run(`sql -At <<<"${rows}"`);
    expect((await run(`psql -X "$URL" -At <<<"${rows}"`, { URL: own.url }))[0]).toBe(embedded);
    await expect(recipe('plants.copy')).rejects.toThrow('duplicate key');
  });

  it.each(BLOCKS.filter(({ code }) => !isPsql(code)).map(({ page, code }) => [page, code]))(
    'should run: %s, %s',
    async (_, code) => {
      const script = code.replace('localhost:3000', `127.0.0.1:${service.port}`);
      const [stdout, stderr] = await run(script.replaceAll(/(token \w+) shop/g, '$1 nursery'));
      expect(stderr).not.toMatch(/error|not found|plant-store: /i);
      // Those that only set variables print nothing.
      if (/^[a-z]/m.test(code.replaceAll(/^export .*$/gm, ''))) expect(stdout).toMatch(/\w/);
      if (code.includes('TOKEN_URL')) expect(stdout).toBe('{"name":"Rose"}');
      if (code.includes('40101')) expect(stdout).toMatch(/^ *1 127\.0\.0\.1$/m);
    },
  );

  it('should correct a plant, and delete it', async () => {
    const code = blocksIn('sql').find((block) => block.code.includes('DELETE FROM plants'))?.code;
    const [output] = await run(`sql -At <<'SQL'\n${code}\nSQL`);
    expect(output).toMatch(
      /^9007199254740993\|Rose\|flower\|.*\n9007199254740993\|Rose\|shrub\nUPDATE 1\n.*shrub\nDELETE 1\n$/,
    );
  });
});
