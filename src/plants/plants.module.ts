import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule, type DatabaseModuleOptions } from '../database/database.module.js';
import type { ErrorStatus } from '../errors/error-status.js';
import { ERROR_STATUS } from '../errors/error-status.token.js';
import { BODY_LIMIT } from '../http/body-limit.token.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

export interface PlantsModuleOptions {
  /** Where plants are stored. */
  database: DatabaseModuleOptions;
  /** Bytes that a decoded request body may have; 1 MiB unless given. */
  bodyLimit?: number;
  /** Status of failures; `contract` unless given. */
  errorStatus?: ErrorStatus;
}

/**
 * The store as a module: `POST /plants`, with exact ids, the contract's error bodies, and a database of its own. Who may create
 * plants is for the application to say: bind a guard, such as `BearerAuthGuard` of `AuthModule`.
 */
@Module({})
export class PlantsModule {
  static forRoot({ database, bodyLimit = 1_048_576, errorStatus = 'contract' }: PlantsModuleOptions): DynamicModule {
    const databaseModule = DatabaseModule.forRoot(database);
    return {
      module: PlantsModule,
      imports: [databaseModule],
      controllers: [PlantsController],
      providers: [
        PlantsService,
        PlantsRepository,
        { provide: BODY_LIMIT, useValue: bodyLimit },
        { provide: ERROR_STATUS, useValue: errorStatus },
      ],
      exports: [PlantsService, databaseModule],
    };
  }
}
