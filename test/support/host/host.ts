import { expect } from '@jest/globals';
import { type LoggerService, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { AddressInfo } from 'node:net';
import {
  BearerAuthGuard,
  type DatabaseOptions,
  exemptPlantsFromBodyParser,
  PlantsAuthModule,
  PlantsHealth,
  PlantsModule,
} from '../../../src/index.js';
import type { BodyReading } from '../../contract/describe-contract.js';
import type { StartedTarget } from '../../contract/contract-target.js';
import { configureHost } from '../../packed/host/configure-host.js';
import { createTestDatabase } from '../database/test-database.js';
import { TOKEN } from '../http/request.js';
import { connectTo } from '../service/store.js';

/** What Nest runs on. */
export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];

interface LogEntry {
  level: string;
  message: string;
  details: unknown[];
}

/** A host's own logger. */
class RecordingLogger implements LoggerService {
  readonly entries: LogEntry[] = [];

  log = this.recordAs('log');
  error = this.recordAs('error');
  warn = this.recordAs('warn');

  messages(level: string): string[] {
    return this.entries.filter((entry) => entry.level === level).map(({ message }) => message);
  }

  private recordAs(level: string) {
    return (message: unknown, ...rest: unknown[]): void => {
      this.entries.push({ level, message: String(message), details: rest });
    };
  }
}

export interface HostSettings {
  platform?: Platform;
  /** Options of Fastify, for HTTP/2. */
  http2?: object;
  /** Who reads the bodies of the plant route: the store, the host, which keeps the bytes or not, or nobody else, as it has no parser. */
  body?: BodyReading | 'parsed' | 'none';
  /** What the host does with its application before it listens. */
  prepare?: (app: NestExpressApplication) => unknown;
}

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** An application of Nest that listens. */
export class Host {
  private constructor(
    readonly app: NestExpressApplication,
    readonly logger: RecordingLogger,
  ) {}

  static async start(metadata: ModuleMetadata, settings: HostSettings = {}): Promise<Host> {
    const { platform = 'express', http2, body = 'exempt', prepare } = settings;
    @Module(metadata)
    class HostModule {}
    const logger = new RecordingLogger();
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter(http2);
    const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
      logger,
      abortOnError: false,
      rawBody: body === 'rawBody',
      ...(body === 'none' && { bodyParser: false }),
    });
    if (body === 'exempt') exemptPlantsFromBodyParser(app);
    prepare?.(app);
    const host = new Host(app, logger);
    try {
      await app.listen(0, '127.0.0.1');
    } catch (failure) {
      await host.stop();
      throw failure;
    }
    return host;
  }

  get port(): number {
    return (this.app.getHttpServer().address() as AddressInfo).port;
  }

  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    };
  }

  /** Fails if Nest only logs that a part of the application failed to end. */
  async stop(): Promise<void> {
    const before = this.logger.messages('error').length;
    await this.app.close();
    const failures = this.logger.messages('error').slice(before);
    if (failures.length > 0) throw new Error(failures.join('\n'));
  }
}

/** The options of a store behind its own guard, which knows one token. */
export function guardedBy(token: string) {
  return { guards: [BearerAuthGuard] as const, imports: [PlantsAuthModule.forRoot({ accessTokens: [token] })] };
}

/** A host for the contract: it does with its own routes everything that a host may do, and mounts the store in addition. */
export async function startHost({ platform = 'express', body = 'exempt' }: HostSettings): Promise<StartedTarget> {
  const database = await createTestDatabase();
  const store = PlantsModule.forRoot({ database: { url: database.url }, ...guardedBy(TOKEN) });
  const prepare = (app: NestExpressApplication): void => {
    // As much as Fastify's own parser takes.
    if (platform === 'express' && body !== 'none') app.useBodyParser('json', { limit: '1mb' });
    configureHost(app);
  };
  const host = await Host.start({ imports: [store] }, { platform, body, prepare });
  return {
    ...connectTo(host.port, '/api/v1'),
    errorStatus: 'contract',
    database,
    stop: async () => {
      await host.stop();
      await database.drop();
    },
  };
}

interface CreateOptions {
  name?: string;
  /** The Idempotency-Key. */
  key?: string;
  path?: string;
}

/** An application with the store as a guest, on the database that these options name. */
export class Guest {
  private constructor(private readonly host: Host) {}

  /** @param databases one store for each: the first at /plants, the next at /plants-1, and so on */
  static async start(...databases: DatabaseOptions[]): Promise<Guest> {
    const stores = databases.map((database, index) =>
      PlantsModule.forRoot({
        database,
        guards: 'none',
        errorStatus: 'semantic',
        path: index === 0 ? 'plants' : `plants-${index}`,
      }),
    );
    return new Guest(await Host.start({ imports: stores }, { body: 'none' }));
  }

  get health(): PlantsHealth {
    return this.host.app.get(PlantsHealth, { strict: false });
  }

  stop(): Promise<void> {
    return this.host.stop();
  }

  create(id: number | bigint, { name = 'Rose', key, path = 'plants' }: CreateOptions = {}): Promise<Answer> {
    const body = `{"id": ${id}, "name": ${JSON.stringify(name)}}`;
    return this.host.send('POST', `/${path}`, body, key === undefined ? {} : { 'Idempotency-Key': key });
  }

  async expectCreated(id: number | bigint, options?: CreateOptions): Promise<void> {
    expect(await this.create(id, options)).toMatchObject({ status: 200, body: { name: options?.name ?? 'Rose' } });
  }
}

/** That the answer is this refusal, which says the result for the plant. */
export function expectTrouble({ status, body }: Answer, error: 50300 | 50301 | 50400): void {
  expect({ status, error: body.error }).toEqual({ status: Math.trunc(error / 100), error });
  expect(body.message).toMatch(error === 50400 ? 'unknown' : 'Nothing was written');
}
