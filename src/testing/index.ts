import '../util/peers.cjs';
export { PlantsInMemory, PlantsTestingModule } from './plants-testing.module.js';
export type { PlantInMemory, PlantsTestingModuleOptions } from './plants-testing.module.js';
