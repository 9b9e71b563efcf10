import autocannon from 'autocannon';
import { scatter } from './ids.js';
import type { HttpLoadRun, LoadGenerator, LoadResult } from './load.js';

/** Where wrk is missing. It takes about as much CPU as what it measures, and tells latencies in whole milliseconds. */
export class Autocannon implements LoadGenerator {
  readonly name = 'autocannon';

  async run({ url, token, ids, connections, seconds, idPrefix, signal }: HttpLoadRun): Promise<LoadResult> {
    let count = 0;
    const run = autocannon({
      url,
      connections,
      duration: seconds,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      requests: [
        {
          setupRequest: (request) => {
            count += 1;
            const number = `${idPrefix}0${String(count).padStart(9, '0')}`;
            const id = ids === 'random' ? scatter(BigInt(number)) : number;
            return { ...request, body: `{"id":${id},"name":"Rose","tag":"flower"}` };
          },
        },
      ],
    });
    const stop = (): void => {
      run.stop();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      const { duration, latency, errors, statusCodeStats } = await run;
      signal.throwIfAborted();
      const { 200: ok = { count: 0 }, ...others } = statusCodeStats;
      const refused = Object.values(others).reduce((sum, { count }) => sum + count, 0);
      return { creates: ok.count, seconds: duration, p50: latency.p50, p99: latency.p99, failures: refused + errors };
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}
