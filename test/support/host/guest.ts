import { expect } from '@jest/globals';
import { type DatabaseOptions, PlantsHealth, PlantsModule } from '../../../src/index.js';
import { type Answer, Host } from './host.js';

interface Options {
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

  create(id: number | bigint, { name = 'Rose', key, path = 'plants' }: Options = {}): Promise<Answer> {
    const body = `{"id": ${id}, "name": ${JSON.stringify(name)}}`;
    return this.host.send('POST', `/${path}`, body, key === undefined ? {} : { 'Idempotency-Key': key });
  }

  async expectCreated(id: number | bigint, options?: Options): Promise<void> {
    expect(await this.create(id, options)).toMatchObject({ status: 200, body: { name: options?.name ?? 'Rose' } });
  }
}

/** That the answer is this refusal, which says the result for the plant. */
export function expectTrouble({ status, body }: Answer, error: 50300 | 50301 | 50400): void {
  expect({ status, error: body.error }).toEqual({ status: Math.trunc(error / 100), error });
  expect(body.message).toMatch(error === 50400 ? 'unknown' : 'Nothing was written');
}
