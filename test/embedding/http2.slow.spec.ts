import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host } from '../support/host/host.js';
import { TOKEN } from '../support/http/request.js';
import { until } from '../support/until.js';

const MEBIBYTE = Buffer.alloc(1024 * 1024, ' ');
const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const POST = { ':method': 'POST', ':path': '/plants', ...HEADERS };
const PLANT = '{"id": 1, "name": "Rose"}';

/** A key and its certificate, which nobody has signed. */
async function selfSigned(): Promise<string> {
  const options = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout - -out -';
  return (await promisify(execFile)('openssl', options.split(' '))).stdout;
}

describe('the store in a host on Fastify with HTTP/2 and TLS', () => {
  let database: TestDatabase;
  let host: Host;
  let session: ClientHttp2Session;
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);

  beforeAll(async () => {
    database = await createTestDatabase();
    const pem = await selfSigned();
    const http2 = { http2: true, https: { key: pem, cert: pem } };
    const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
    host = await Host.start({ imports: [store] }, { platform: 'fastify', http2 });
    // In megabytes. What waits to be sent counts.
    session = connect(`https://127.0.0.1:${host.port}`, { rejectUnauthorized: false, maxSessionMemory: 200 });
    process.on('warning', warn);
  });
  beforeEach(() => database.query('TRUNCATE plants'));
  afterAll(async () => {
    process.off('warning', warn);
    session.destroy();
    await host.stop();
    await database.drop();
    // None of what HTTP/1 says of connections was sent.
    expect(warnings).toEqual([]);
  });

  /** The answer to a request on the one session, of whose body more may follow. */
  async function send(headers: OutgoingHttpHeaders, ...body: (string | Buffer)[]): Promise<object> {
    const stream = session.request({ ...POST, ...headers }, { endStream: false });
    stream.on('error', () => undefined);
    for (const part of body) stream.write(part);
    if (typeof body[0] === 'string') stream.end();
    const answer = JSON.parse(await text(stream)) as object;
    stream.close();
    return answer;
  }

  it.each<[error: number, headers: OutgoingHttpHeaders]>([
    [40100, { authorization: 'Basic x' }],
    [41500, { 'content-type': 'text/plain' }],
    [41300, {}],
    [41300, { 'content-length': '1000000000' }],
  ])('should refuse, with %d, a body on its way, and take the next request of the session', async (error, headers) => {
    expect(await send(headers, ...Array<Buffer>(20).fill(MEBIBYTE))).toMatchObject({ error });
    expect(await send({}, PLANT)).toEqual({ name: 'Rose' });
  });

  it('should close the stream of a body without an end, and no other', async () => {
    const endless = session.request({ ...POST, 'content-type': 'text/plain' });
    endless.on('error', () => undefined);
    const write = (): void => {
      if (!endless.closed) endless.write(MEBIBYTE, write);
    };
    write();
    expect(JSON.parse(await text(endless))).toMatchObject({ error: 41500 });
    await until(() => endless.closed);
    expect(endless.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
    expect(await send({}, PLANT)).toEqual({ name: 'Rose' });
  });
});
