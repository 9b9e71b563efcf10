import { expect } from '@jest/globals';
import { type LoggerService, Module, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { BearerAuthGuard, type DatabaseOptions, PlantsAuthModule, PlantsModule } from '../../../src/index.js';
import type { BodyReading } from '../../contract/describe-contract.js';
import { portOf } from '../http/free-port.js';

/** What Nest runs on. */
export const PLATFORMS = ['express', 'fastify'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** A host's own logger. */
class RecordingLogger implements LoggerService {
  readonly entries: { level: string; message: string; details: unknown[] }[] = [];
  log = this.record.bind(this, 'log');
  error = this.record.bind(this, 'error');
  warn = this.record.bind(this, 'warn');

  messages(level: string): string[] {
    return this.entries.filter((entry) => entry.level === level).map(({ message }) => message);
  }

  private record(level: string, message: unknown, ...details: unknown[]): void {
    this.entries.push({ level, message: String(message), details });
  }
}

interface HostSettings {
  platform?: Platform;
  /** Who reads the bodies: the store, if the host has no parser, or the host, which keeps the bytes or not. */
  body?: BodyReading | 'parsed';
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
    const { platform = 'express', body = 'rawBody', prepare } = settings;
    @Module(metadata)
    class HostModule {}
    const logger = new RecordingLogger();
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    const app = await NestFactory.create<NestExpressApplication>(HostModule, adapter, {
      logger,
      abortOnError: false,
      rawBody: body === 'rawBody',
      ...(body === 'store' && { bodyParser: false }),
    });
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

  /** An application with nothing but a store on this database, open to everybody and with semantic statuses. */
  static on(database: DatabaseOptions): Promise<Host> {
    const store = PlantsModule.forRoot({ database, guards: 'none', errorStatus: 'semantic' });
    return Host.start({ imports: [store] });
  }

  get port(): number {
    return portOf(this.app.getHttpServer());
  }

  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${this.port}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...(body !== undefined && { body }),
    });
    const { status, headers: received } = response;
    return { status, headers: received, body: (await response.json()) as Record<string, unknown> };
  }

  /** Creates a plant in a store that is open to everybody. */
  create(
    id: number | bigint,
    { name = 'Rose', key }: { name?: string; key?: string | undefined } = {},
  ): Promise<Answer> {
    const body = `{"id": ${id}, "name": ${JSON.stringify(name)}}`;
    return this.send('POST', '/plants', body, key === undefined ? {} : { 'Idempotency-Key': key });
  }

  async expectCreated(id: number | bigint, key?: string): Promise<void> {
    expect(await this.create(id, { key })).toMatchObject({ status: 200, body: { name: 'Rose' } });
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
