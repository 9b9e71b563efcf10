export {
  type PlantInMemory,
  PlantsInMemory,
  PlantsTestingModule,
  type PlantsTestingModuleAsyncOptions,
  type PlantsTestingModuleOptions,
} from './plants-testing.module.js';
