import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import { ConnectionPool } from './connection-pool.js';
import { PrismaClient } from './generated/client.js';

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(private readonly pool: ConnectionPool) {
    super({ adapter: new PrismaPg(pool, { schema: pool.schema }) });
  }

  /** Here and not in `onModuleDestroy`, which Nest runs before the requests in flight are done. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
    await this.pool.end();
  }
}
