import {
  type BeforeApplicationShutdown,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';

/** Logs every moment of an application's life that Nest tells of. */
export class Lifecycle
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown
{
  private readonly logger = new Logger(Lifecycle.name);

  constructor(private readonly name: string) {}

  onModuleInit(): void {
    this.logger.log(`${this.name}: module init`);
  }

  onApplicationBootstrap(): void {
    this.logger.log(`${this.name}: application bootstrap`);
  }

  onModuleDestroy(): void {
    this.logger.log(`${this.name}: module destroy`);
  }

  beforeApplicationShutdown(signal?: string): void {
    this.logger.log(`${this.name}: before application shutdown ${signal ?? ''}`);
  }

  onApplicationShutdown(signal?: string): void {
    this.logger.log(`${this.name}: application shutdown ${signal ?? ''}`);
  }
}
