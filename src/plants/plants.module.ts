import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule, type DatabaseModuleOptions } from '../database/database.module.js';
import { BODY_LIMIT } from '../http/body-limit.token.js';
import { PlantsController } from './plants.controller.js';
import { PlantsRepository } from './plants.repository.js';
import { PlantsService } from './plants.service.js';

export interface PlantsModuleOptions {
  /** Where plants are stored. */
  database: DatabaseModuleOptions;
  /** Bytes that a decoded request body may have. */
  bodyLimit: number;
}

@Module({})
export class PlantsModule {
  static forRoot({ database, bodyLimit }: PlantsModuleOptions): DynamicModule {
    const databaseModule = DatabaseModule.forRoot(database);
    return {
      module: PlantsModule,
      imports: [databaseModule],
      controllers: [PlantsController],
      providers: [PlantsService, PlantsRepository, { provide: BODY_LIMIT, useValue: bodyLimit }],
      exports: [PlantsService, databaseModule],
    };
  }
}
