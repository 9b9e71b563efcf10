import { Global, Injectable, Logger, Module, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from './generated/client.js';

/** Prisma's client on a pool that the plant store borrows its connections from. */
@Injectable()
export class PrismaService extends PrismaClient implements OnApplicationShutdown {
  readonly pool: pg.Pool;

  constructor() {
    const { DATABASE_URL } = process.env;
    if (!DATABASE_URL) throw new Error('Set DATABASE_URL.');
    const pool = new pg.Pool({ connectionString: DATABASE_URL });
    // Without a listener, a lost idle connection would end the process.
    pool.on('error', ({ message }) => {
      new Logger(PrismaService.name).warn(message);
    });
    super({ adapter: new PrismaPg(pool) });
    this.pool = pool;
  }

  /** It comes after the requests in flight, which still need it. */
  async onApplicationShutdown(): Promise<void> {
    await this.$disconnect();
    await this.pool.end();
  }
}

@Global()
@Module({ providers: [PrismaService], exports: [PrismaService] })
export class PrismaModule {}
