import { expect } from '@jest/globals';
import { type INestApplicationContext, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { AddressInfo } from 'node:net';
import { type DatabaseOptions, PlantsHealth, PlantsModule } from '../../../src/index.js';

interface Answer {
  status: number;
  body: { name?: string; error?: number; message?: string };
}

/** An application with the store as a guest, on the database that these options name. */
export class Guest {
  private constructor(
    private readonly app: NestExpressApplication,
    private readonly url: string,
  ) {}

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
    @Module({ imports: stores })
    class HostModule {}
    const app = await NestFactory.create<NestExpressApplication>(HostModule, {
      bodyParser: false,
      logger: false,
      abortOnError: false,
    });
    try {
      await app.listen(0, '127.0.0.1');
    } catch (error) {
      await closeCleanly(app);
      throw error;
    }
    return new Guest(app, `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`);
  }

  get health(): PlantsHealth {
    return this.app.get(PlantsHealth, { strict: false });
  }

  stop(): Promise<void> {
    return closeCleanly(this.app);
  }

  async create(id: number | bigint, { name = 'Rose', key, path = 'plants' } = {} as Options): Promise<Answer> {
    const response = await fetch(`${this.url}/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(key !== undefined && { 'Idempotency-Key': key }) },
      body: `{"id": ${id}, "name": ${JSON.stringify(name)}}`,
    });
    return { status: response.status, body: (await response.json()) as Answer['body'] };
  }

  async expectCreated(id: number | bigint, options?: Options): Promise<void> {
    expect(await this.create(id, options)).toEqual({ status: 200, body: { name: options?.name ?? 'Rose' } });
  }
}

/** Closes an application, and fails if Nest, which goes on when a part of it fails to end, only logs that. */
async function closeCleanly(app: INestApplicationContext): Promise<void> {
  const errors: unknown[] = [];
  Logger.overrideLogger({
    log: () => undefined,
    warn: () => undefined,
    error: (error: unknown) => errors.push(error),
  });
  try {
    await app.close();
  } finally {
    Logger.overrideLogger(false);
  }
  expect(errors).toEqual([]);
}

interface Options {
  name?: string;
  /** The Idempotency-Key. */
  key?: string;
  path?: string;
}

/** That the answer is this refusal, which says the result for the plant. */
export function expectTrouble({ status, body }: Answer, error: 50300 | 50301 | 50400): void {
  expect({ status, error: body.error }).toEqual({ status: Math.trunc(error / 100), error });
  expect(body.message).toMatch(error === 50400 ? 'unknown' : 'Nothing was written');
}
