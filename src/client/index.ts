export { ERROR_CATALOGUE, type ErrorNumber } from '../errors/error-catalogue.js';
export { type CreateOptions, PlantStoreClient } from './client.js';
export { NetworkError, PlantStoreError, RequestError, UnexpectedResponseError } from './errors.js';
export type { PlantStoreClientOptions } from './options.js';
export type { NewPlant } from './request.js';
export type { Plant } from './response.js';
