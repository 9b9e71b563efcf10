import { type DynamicModule, Module } from '@nestjs/common';
import { ConnectionPool, type ConnectionPoolOptions } from './connection-pool.js';
import { PrismaService } from './prisma.service.js';

export type DatabaseModuleOptions = ConnectionPoolOptions;

@Module({})
export class DatabaseModule {
  static forRoot(options: DatabaseModuleOptions): DynamicModule {
    return {
      module: DatabaseModule,
      providers: [{ provide: ConnectionPool, useFactory: () => new ConnectionPool(options) }, PrismaService],
      exports: [ConnectionPool, PrismaService],
    };
  }
}
