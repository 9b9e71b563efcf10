import type { OpenAPIObject } from '@nestjs/swagger';
import { requestHead, TOKEN } from '../../http/request.js';
import { until } from '../../until.js';
import { API_KEY } from './api-key.guard.js';
import { exchange } from './exchange.js';
import { type GuestHostOptions, startGuestHost } from './guest-host.js';
import { hostRequests } from './host-requests.js';
import type { LogEntry } from './recording.logger.js';

/** What can be seen of a host from its start to its end. */
export interface Observation {
  /** What came back for each of the host's own requests, byte for byte. */
  answers: Record<string, string>;
  document: OpenAPIObject;
  /** What the host's own classes logged, in order. */
  log: LogEntry[];
  /** What Nest logged of modules and routes other than the store's. */
  logOfNest: string[];
  /** What came back for a plant. */
  plant: string;
}

const HOST_CLASSES = ['OrdersController', 'ProblemFilter', 'Lifecycle'];
const CONNECTIONS = 'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()';

/** Runs a host from its start to its end, which leaves no connection to the database. */
export async function observeHost(options: GuestHostOptions): Promise<Observation> {
  const host = await startGuestHost(options);
  const { port, logger, database } = host;
  const document = JSON.parse(JSON.stringify(host.describe())) as OpenAPIObject;
  const answers: Record<string, string> = {};
  for (const [name, parts] of hostRequests(options.platform)) answers[name] = await exchange(port, ...parts);
  const plant = await createPlant(port);
  await host.close();
  await until(async () => (await database.query(CONNECTIONS)).length === 0);
  await database.drop();
  const logOfNest = logger.entries
    .filter(({ context }) => !HOST_CLASSES.includes(String(context)))
    .map(({ message }) => String(message))
    .filter((message) => !/plants|auth/i.test(message));
  return { answers, document, log: logger.of(...HOST_CLASSES), logOfNest: logOfNest.sort(), plant };
}

function createPlant(port: number): Promise<string> {
  const plant = '{"id": 1, "name": "Rose"}';
  const head = requestHead('POST /api/v1/plants HTTP/1.1', {
    Authorization: `Bearer ${TOKEN}`,
    'X-Api-Key': API_KEY,
    'Content-Type': 'application/json',
    'Content-Length': String(plant.length),
    Connection: 'close',
  });
  return exchange(port, head, plant);
}
