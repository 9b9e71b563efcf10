/** The store in memory, for tests of applications of Nest. @module plant-store/testing */
import '../util/peers.cjs';
export { PlantsInMemory, PlantsTestingModule } from './plants-testing.module.js';
export type { PlantInMemory, PlantsTestingModuleOptions } from './plants-testing.module.js';
