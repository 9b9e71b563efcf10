import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { FastifyInstance } from 'fastify';
import { PlantsModule } from '../../src/index.js';
import { removePlants, runningTarget } from '../contract/contract-target.js';
import { describeFields, describeIdentifiers, describeNamesAndTags } from '../contract/fields.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host, type HostSettings } from '../support/host/host.js';
import { connectTo, type RawResponse, TOKEN } from '../support/http/request.js';
import { until } from '../support/until.js';

const MEBIBYTE = Buffer.alloc(1024 * 1024, ' ');
const HEADERS = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const POST = { ':method': 'POST', ':path': '/plants', ...HEADERS };
/** A key and its certificate, which nobody has signed. */
const SELF_SIGNED = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout - -out -';

async function startHost(database: TestDatabase, settings: HostSettings): Promise<Host> {
  const { stdout: pem } = await promisify(execFile)('openssl', SELF_SIGNED.split(' '));
  const http2 = { http2: true, https: { key: pem, cert: pem } };
  const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
  return Host.start({ imports: [store] }, { platform: 'fastify', http2, ...settings });
}

/** What waits to be sent counts, in megabytes. */
const sessionWith = ({ port }: Host): ClientHttp2Session =>
  connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, maxSessionMemory: 200 });

describe('POST /plants in a host on Fastify with HTTP/2 and TLS', () => {
  const target = runningTarget(async () => {
    const database = await createTestDatabase();
    const host = await startHost(database, { body: 'rawBody' });
    const session = sessionWith(host);
    const post = async (body: string | Buffer, others: OutgoingHttpHeaders = {}): Promise<RawResponse> => {
      const stream = session.request({ ...POST, ...others });
      stream.end(body);
      const [received] = (await once(stream, 'response')) as [Record<string, string>];
      return { status: Number(received[':status']), headers: received, body: await text(stream) };
    };
    const stop = async (): Promise<void> => {
      session.destroy();
      await host.stop();
      await database.drop();
    };
    return { ...connectTo(host.port, ''), errorStatus: 'contract', database, post, stop };
  });
  beforeEach(() => removePlants(target()));
  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target, false);
  describeTakenIds(target);
});

describe('bodies that no parser of a host on HTTP/2 reads', () => {
  let database: TestDatabase;
  let host: Host;
  let session: ClientHttp2Session;
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);

  beforeAll(async () => {
    database = await createTestDatabase();
    const prepare = (app: NestExpressApplication): void => {
      const fastify = app.getHttpAdapter().getInstance() as unknown as FastifyInstance;
      fastify.removeAllContentTypeParsers();
      fastify.addContentTypeParser('*', (_request, _body, done) => {
        done(null);
      });
    };
    host = await startHost(database, { body: 'store', prepare });
    session = sessionWith(host);
    process.on('warning', warn);
  });
  afterAll(async () => {
    process.off('warning', warn);
    session.destroy();
    await host.stop();
    await database.drop();
    // None of what HTTP/1 says of connections was sent.
    expect(warnings).toEqual([]);
  });

  async function expectCreated(id: number): Promise<void> {
    const stream = session.request(POST);
    stream.end(`{"id": ${id}, "name": "Rose"}`);
    expect(await text(stream)).toBe('{"name":"Rose"}');
  }

  it.each<[error: number, headers: OutgoingHttpHeaders]>([
    [40100, { authorization: 'Basic x' }],
    [41500, { 'content-type': 'text/plain' }],
    [41300, {}],
    [41300, { 'content-length': '1000000000' }],
  ])('should refuse, with %d, a body without an end, close its stream, and no other (%#)', async (error, headers) => {
    const endless = session.request({ ...POST, ...headers });
    endless.on('error', () => undefined);
    const write = (): void => {
      if (!endless.closed) endless.write(MEBIBYTE, write);
    };
    write();
    expect(JSON.parse(await text(endless))).toMatchObject({ error });
    await until(() => endless.closed);
    expect(endless.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
    await expectCreated(error + Object.keys(headers).length);
  });
});
