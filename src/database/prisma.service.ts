import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from './database.js';
import { PrismaClient } from './generated/client.js';

@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  constructor(private readonly database: Database) {
    super({ adapter: database.adapterFactory });
  }

  /** Here and not in `onModuleDestroy`, which Nest runs before the requests in flight are done. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
    await this.database.close();
  }
}
