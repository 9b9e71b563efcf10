import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { endPool } from '../../database/end-pool.js';
import type { HostPrisma, HostPrismaClient } from './host-prisma.js';

/** A host's own Prisma client and pg pool, on the database that the store uses too. */
@Injectable()
export class HostStorage implements OnApplicationShutdown {
  readonly prisma: HostPrismaClient;
  readonly pool: pg.Pool;

  constructor(url: string, { Client }: HostPrisma) {
    this.prisma = new Client({ adapter: new PrismaPg({ connectionString: url }) });
    this.pool = new pg.Pool({ connectionString: url, application_name: 'host' });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.prisma.$disconnect();
    await endPool(this.pool);
  }
}
