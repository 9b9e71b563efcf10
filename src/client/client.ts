import { AbortError, NetworkError, RequestError } from './errors.js';
import type { operations, paths } from './generated/openapi.js';
import { newIdempotencyKey, type NewPlant, type Plant, readResponse, serializePlant } from './messages.js';
import {
  checkCreateOptions,
  checkObject,
  checkToken,
  type CreateOptions,
  type PlantStoreClientOptions,
  resolveOptions,
} from './options.js';
import { abortable, retryDelay, withTimeLimit } from './retry.js';

const PATH = '/plants' satisfies keyof paths;
type Headers = operations['createPlant']['parameters']['header'];

/**
 * Creates plants in a plant store. It needs nothing but `fetch`, so it runs in Node.js and in browsers.
 *
 * @example
 * import { PlantStoreClient, PlantStoreError } from 'plant-store/client';
 *
 * const store = new PlantStoreClient({ baseUrl: 'http://localhost:3000', token: 'a-token-of-20-characters-or-more' });
 * try {
 *   await store.create({ id: 9007199254740993n, name: 'Rose' });
 * } catch (failure) {
 *   if (failure instanceof PlantStoreError && failure.error === 40901) console.log('The id is taken.');
 *   else throw failure;
 * }
 */
export class PlantStoreClient {
  private readonly options: Required<PlantStoreClientOptions>;

  /** Sends nothing yet. @throws TypeError that names the option that cannot work */
  constructor(options: PlantStoreClientOptions) {
    this.options = resolveOptions(options);
  }

  /**
   * Creates a plant exactly once, however often it has to be sent: all attempts carry the same `Idempotency-Key`. What is `retryable` is repeated,
   * with backoff and jitter, and never before `Retry-After`. Give the same plant and key again, from any process, and you get the same answer.
   *
   * @throws {@link PlantStoreError} if the store refuses it
   * @throws {@link NetworkError} if no answer came
   * @throws {@link UnexpectedResponseError} if the answer is not the store's
   * @throws {@link AbortError} if `signal` ended it
   * @throws TypeError before anything is sent, if the plant, its id, the key, the token or an option cannot be right
   * @throws what the function `token` throws, as it is
   */
  async create(plant: NewPlant, options: CreateOptions = {}): Promise<Plant> {
    checkCreateOptions(options);
    const { signal, idempotencyKey = newIdempotencyKey() } = options;
    checkObject('plant', plant, "such as { id: 1n, name: 'Rose' }");
    const body = serializePlant(plant);
    let wasSent = false;
    const attempt = async (): Promise<Plant> => {
      const token = await abortable(() => this.accessToken(), signal);
      wasSent = true;
      return this.send(body, token, idempotencyKey, signal);
    };
    try {
      return await this.repeat(attempt, signal);
    } catch (error) {
      throw signal?.aborted ? new AbortError(signal.reason, wasSent, idempotencyKey) : error;
    }
  }

  private async repeat(attempt: () => Promise<Plant>, signal: AbortSignal | undefined): Promise<Plant> {
    for (let repetition = 0; ; repetition++) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof RequestError) || repetition >= this.options.retries) throw error;
        const delay = retryDelay(error, repetition, this.options);
        if (delay === undefined) throw error;
        await this.pause(delay, signal);
      }
    }
  }

  protected async pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const elapsed = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)));
    await abortable(() => elapsed, signal).finally(() => {
      clearTimeout(timer);
    });
  }

  private async accessToken(): Promise<string> {
    const { token } = this.options;
    if (typeof token === 'string') return token;
    const given = await token();
    checkToken(given);
    return given;
  }

  private async send(
    body: string,
    token: string,
    idempotencyKey: string,
    signal: AbortSignal | undefined,
  ): Promise<Plant> {
    // A browser's own fetch, called as a method, refuses its `this`.
    const { fetch, timeout, baseUrl } = this.options;
    const url = `${baseUrl}${PATH}`;
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${token}`,
      ...({ 'Idempotency-Key': idempotencyKey } satisfies Headers),
    };
    const exchange = async (attempt: AbortSignal): Promise<Plant> => {
      // Followed, a redirected POST may become a GET.
      const request = new Request(url, { method: 'POST', headers, body, redirect: 'manual', signal: attempt });
      return readResponse(url, await fetch(request), idempotencyKey);
    };
    try {
      return await withTimeLimit(timeout, signal, exchange);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof RequestError ? error : new NetworkError(url, error, idempotencyKey);
    }
  }
}
