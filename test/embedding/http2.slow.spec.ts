import { describe } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { connect, type OutgoingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { PlantsModule } from '../../src/index.js';
import { runningTarget } from '../contract/contract-target.js';
import { describeFields, describeIdentifiers, describeNamesAndTags } from '../contract/fields.js';
import { describeTakenIds } from '../contract/repetitions.js';
import { createTestDatabase } from '../support/database/test-database.js';
import { guardedBy, Host } from '../support/host/host.js';
import { connectTo, type RawResponse, TOKEN } from '../support/http/request.js';

const POST = { ':method': 'POST', ':path': '/plants', 'content-type': 'application/json' };
/** A key and its certificate, which nobody has signed. */
const SELF_SIGNED = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -keyout - -out -';

describe('POST /plants in a host on Fastify with HTTP/2 and TLS', () => {
  const target = runningTarget(async () => {
    const database = await createTestDatabase();
    const { stdout: pem } = await promisify(execFile)('openssl', SELF_SIGNED.split(' '));
    const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
    const http2 = { http2: true, https: { key: pem, cert: pem } };
    const host = await Host.start({ imports: [store] }, { platform: 'fastify', http2 });
    // What waits to be sent counts, in megabytes.
    const session = connect(`https://127.0.0.1:${host.port}`, { rejectUnauthorized: false, maxSessionMemory: 200 });
    const post = async (body: string | Buffer, others: OutgoingHttpHeaders = {}): Promise<RawResponse> => {
      const stream = session.request({ ...POST, authorization: `Bearer ${TOKEN}`, ...others });
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

  describeIdentifiers(target);
  describeNamesAndTags(target);
  describeFields(target, false);
  describeTakenIds(target);
});
