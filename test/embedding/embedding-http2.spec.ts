import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Catch, type ExceptionFilter, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { execFile } from 'node:child_process';
import { type ClientHttp2Session, connect, constants, type OutgoingHttpHeaders } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectSocket } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { BearerAuthGuard, exemptPlantsFromBodyParser, PlantsAuthModule, PlantsModule } from '../../src/index.js';
import { createTestDatabase, type TestDatabase } from '../support/database/test-database.js';
import { TOKEN } from '../support/http/request.js';
import { until } from '../support/until.js';

const MEBIBYTE = Buffer.alloc(1024 * 1024, ' ');
const POST = {
  ':method': 'POST',
  ':path': '/plants',
  authorization: `Bearer ${TOKEN}`,
  'content-type': 'application/json',
};
const plant = (id: number): string => `{"id": ${id}, "name": "Rose"}`;

/** A key and its certificate, which nobody has signed. */
async function selfSigned(): Promise<string> {
  const options = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout - -out -';
  return (await promisify(execFile)('openssl', options.split(' '))).stdout;
}

describe.each(['h2c', 'https'] as const)('the store in a host on Fastify with HTTP/2, %s', (protocol) => {
  let database: TestDatabase;
  let app: NestFastifyApplication;
  let session: ClientHttp2Session;
  const escaped: unknown[] = [];
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);

  @Catch()
  class HostFilter implements ExceptionFilter {
    catch(exception: unknown): void {
      escaped.push(exception);
    }
  }

  beforeAll(async () => {
    database = await createTestDatabase();
    const auth = PlantsAuthModule.forRoot({ accessTokens: [TOKEN] });
    @Module({
      imports: [PlantsModule.forRoot({ database: { url: database.url }, guards: [BearerAuthGuard], imports: [auth] })],
    })
    class HostModule {}
    const pem = protocol === 'https' ? await selfSigned() : '';
    const https = { https: { key: pem, cert: pem, allowHTTP1: true } };
    const adapter = new FastifyAdapter({ http2: true, ...(protocol === 'https' && https) } as object);
    app = await NestFactory.create<NestFastifyApplication>(HostModule, adapter, { logger: false, abortOnError: false });
    exemptPlantsFromBodyParser(app);
    app.useGlobalFilters(new HostFilter());
    await app.listen(0, '127.0.0.1');
    // In megabytes. What waits to be sent counts.
    session = connect(await app.getUrl(), { rejectUnauthorized: false, maxSessionMemory: 200 });
    process.on('warning', warn);
  });
  afterAll(async () => {
    process.off('warning', warn);
    session.destroy();
    await app.close();
    await database.drop();
  });
  beforeEach(() => database.query('TRUNCATE plants'));

  /** The answer to a request on the one session, of whose body more may follow. */
  async function send(headers: OutgoingHttpHeaders, body: string | Buffer[]): Promise<[object, OutgoingHttpHeaders]> {
    const stream = session.request({ ...POST, ...headers }, { endStream: false });
    stream.on('error', () => undefined);
    const answered = new Promise<OutgoingHttpHeaders>((resolve) => stream.once('response', resolve));
    if (typeof body === 'string') stream.end(body);
    else for (const part of body) stream.write(part);
    const answer = JSON.parse(await text(stream)) as object;
    stream.close();
    return [answer, await answered];
  }

  it.each<[error: number, headers: OutgoingHttpHeaders]>([
    [40100, { authorization: 'Basic x' }],
    [41500, { 'content-type': 'text/plain' }],
    [41300, {}],
    [41300, { 'content-length': '1000000000' }],
  ])(
    'should refuse, with %d, a body that is on its way, and take the next request of the session',
    async (error, headers) => {
      expect(await send(headers, Array<Buffer>(20).fill(MEBIBYTE))).toMatchObject([{ error }, { ':status': 400 }]);
      expect(await send({}, plant(1))).toMatchObject([{ name: 'Rose' }, { ':status': 200 }]);
    },
  );

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
    expect(await send({}, plant(1))).toMatchObject([{ name: 'Rose' }, {}]);
  });

  it('should go on if a client cancels its request', async () => {
    const cancelled = session.request(POST);
    cancelled.on('error', () => undefined).write('{"id": 1, ');
    cancelled.close(constants.NGHTTP2_CANCEL);
    expect(await send({}, plant(1))).toMatchObject([{ name: 'Rose' }, {}]);
  });

  it('should give ids of requests, and refuse a wrong token', async () => {
    const [, headers] = await send({ 'x-request-id': 'of-the-client' }, plant(1));
    expect(headers).toMatchObject({ 'x-request-id': 'of-the-client' });
    const wrong = { authorization: 'Bearer a-token-that-nobody-has' };
    expect(await send(wrong, plant(1))).toMatchObject([{ error: 40101 }, {}]);
  });

  it('should keep its failures from the filters of the host, and make Node.js warn of nothing', () => {
    expect(escaped).toEqual([]);
    expect(warnings).toEqual([]);
  });

  if (protocol === 'https') {
    it('should answer over HTTP/1.1 as well', async () => {
      const post = (Authorization: string, body: string | Buffer): Promise<string> =>
        new Promise((resolve, reject) => {
          const headers = { 'Content-Type': 'application/json', Authorization };
          const sent = httpsRequest({
            port: new URL(url).port,
            path: '/plants',
            method: 'POST',
            headers,
            rejectUnauthorized: false,
          });
          sent
            .on('response', (response) => {
              resolve(text(response));
            })
            .on('error', reject);
          sent.end(body);
        });
      const url = await app.getUrl();
      expect(await post(POST.authorization, plant(1))).toBe('{"name":"Rose"}');
      expect(JSON.parse(await post('Basic x', MEBIBYTE))).toMatchObject({ error: 40100 });
    });
  } else {
    it('should refuse a repeated credential, which the client of Node.js does not send', async () => {
      const { port } = new URL(await app.getUrl());
      const socket = connectSocket(Number(port), '127.0.0.1');
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      const { authorization, ...others } = POST;
      const fields = [
        ...Object.entries({ ...others, ':authority': 'localhost', ':scheme': 'http' }).sort(([one], [other]) =>
          one < other ? -1 : 1,
        ),
        ...Array.from({ length: 2 }, () => ['authorization', authorization] as const),
      ];
      // SETTINGS, and HEADERS whose fields are not compressed, with END_HEADERS and END_STREAM.
      const block = fields.flatMap((field) => [
        Buffer.of(0),
        ...field.flatMap((part) => [Buffer.of(part.length), Buffer.from(part)]),
      ]);
      socket.write(frame(4, 0, 0, Buffer.alloc(0)));
      socket.write(frame(1, 5, 1, Buffer.concat(block)));
      let received = '';
      socket.on('data', (bytes: Buffer) => void (received += bytes.toString('latin1')));

      await until(() => received.includes('}'));
      socket.destroy();
      expect(received).toContain('{"error":40102,');
    });
  }
});

/** A frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
