export { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
export { NetworkError } from './network.error.js';
export type { PlantStoreClientOptions } from './plant-store-client-options.js';
export { type CreateOptions, type NewPlant, type Plant, PlantStoreClient } from './plant-store-client.js';
export { PlantStoreError } from './plant-store.error.js';
export { RequestError } from './request.error.js';
export { UnexpectedResponseError } from './unexpected-response.error.js';
