import createClient, { type Client } from 'openapi-fetch';
import { abortable } from './abortable.js';
import { checkObject } from './check-object.js';
import type { components, paths } from './generated/openapi.js';
import { checkIdempotencyKey, newIdempotencyKey } from './idempotency-key.js';
import { NetworkError } from './network.error.js';
import {
  checkToken,
  type PlantStoreClientOptions,
  type ResolvedOptions,
  resolveOptions,
} from './plant-store-client-options.js';
import { readAnswer } from './read-answer.js';
import { RequestError } from './request.error.js';
import { retryDelay } from './retry-delay.js';
import { serializePlant } from './serialize-plant.js';
import { withTimeLimit } from './time-limit.js';

/** A plant to create; its `id` is any int64. */
export type NewPlant = components['schemas']['NewPlant'];
/** A plant as the store answers with it. */
export type Plant = components['schemas']['Plant'];

export interface CreateOptions {
  /** Ends the create at once, whatever it does; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** A key of the caller's, 1 to 255 characters of ASCII, to repeat a create with later; a new random one by default. */
  idempotencyKey?: string | undefined;
}

/** Creates plants in a plant store. Needs nothing but `fetch`, so it runs in Node.js and in browsers. */
export class PlantStoreClient {
  private readonly options: ResolvedOptions;
  private readonly http: Client<paths>;
  private readonly url: string;

  /** @throws TypeError where an option cannot be */
  constructor(options: PlantStoreClientOptions) {
    this.options = resolveOptions(options);
    const { baseUrl, fetch } = this.options;
    this.http = createClient<paths>({ baseUrl, ...(fetch && { fetch }) });
    this.url = `${baseUrl}/plants`;
  }

  /**
   * Creates a plant exactly once, however often it has to be sent: all attempts carry the same `Idempotency-Key`.
   *
   * @throws PlantStoreError where the store refuses it
   * @throws NetworkError where no answer came
   * @throws UnexpectedResponseError where the answer is not the store's
   * @throws TypeError, before anything is sent, for an id that is not exactly known, and for a plant, key, token or options
   *   that are none
   * @throws what `token` throws, and the reason of `signal`
   */
  async create(plant: NewPlant, options: CreateOptions = {}): Promise<Plant> {
    // With names of any kind: a RequestError is taken as it is, for its key.
    checkObject('options', options, 'with signal or idempotencyKey');
    const { signal, idempotencyKey = newIdempotencyKey() } = options;
    checkIdempotencyKey(idempotencyKey);
    checkObject('plant', plant, "such as { id: 1n, name: 'Rose' }");
    const body = serializePlant(plant);
    for (let repetition = 0; ; repetition++) {
      const token = await abortable(() => this.accessToken(), signal);
      try {
        return await this.send(plant, body, token, idempotencyKey, signal);
      } catch (error) {
        if (!(error instanceof RequestError) || repetition >= this.options.retries) throw error;
        const delay = retryDelay(error, repetition, this.options);
        if (delay === undefined) throw error;
        await this.pause(delay, signal);
      }
    }
  }

  /** Waits for so many milliseconds. */
  protected async pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const elapsed = (): Promise<void> =>
      new Promise((resolve) => {
        timer = setTimeout(resolve, milliseconds);
      });
    await abortable(elapsed, signal).finally(() => {
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

  /** One attempt. */
  private async send(
    plant: NewPlant,
    body: string,
    token: string,
    idempotencyKey: string,
    signal: AbortSignal | undefined,
  ): Promise<Plant> {
    const exchange = (attempt: AbortSignal) =>
      this.http.POST('/plants', {
        body: plant,
        bodySerializer: () => body,
        headers: { Authorization: `Bearer ${token}` },
        params: { header: { 'Idempotency-Key': idempotencyKey } },
        parseAs: 'text',
        // Followed, a POST may become a GET.
        redirect: 'manual',
        signal: attempt,
      });
    try {
      return readAnswer(this.url, await withTimeLimit(this.options.timeout, signal, exchange), idempotencyKey);
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof RequestError ? error : new NetworkError(this.url, error, idempotencyKey);
    }
  }
}
