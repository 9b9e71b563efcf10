/** The typed client, for Node.js and browsers. @module plant-store/client */
export { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
export { PlantStoreClient } from './client.js';
export { AbortError, NetworkError, PlantStoreError, RequestError, UnexpectedResponseError } from './errors.js';
export { newIdempotencyKey, type NewPlant, type Plant } from './messages.js';
export type { CreateOptions, PlantStoreClientOptions } from './options.js';
