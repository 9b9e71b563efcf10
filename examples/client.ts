/** Where the store is, for example http://localhost:3000, and an access token for it. */
export interface Store {
  baseUrl: string;
  token: string;
}

export interface Plant {
  name: string;
  tag?: string;
}

/** An id has up to 64 bits. A number would round it above 2^53. */
export interface NewPlant extends Plant {
  id: bigint;
}

/** The store refused the plant. docs/errors.md says what each number means. */
export class RefusedError extends Error {
  constructor(
    readonly error: number,
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(`${error}: ${message}`);
  }
}

const ATTEMPTS = 5;
const ATTEMPT_TIMEOUT_MS = 15_000;
const FIRST_PAUSE_MS = 200;
/** These are safe to send again with the same key: nothing was written, or the outcome is unknown. */
const REPEATED = [40800, 50000, 50300, 50301, 50400];

/**
 * Creates a plant once, however often it has to be sent: all attempts have the same key. To go on after a crash, store
 * the key first.
 */
export async function createPlant(store: Store, plant: NewPlant, key: string = crypto.randomUUID()): Promise<Plant> {
  const url = new URL(`${store.baseUrl}/plants`);
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(url, store.token, plant, key);
    } catch (failure) {
      // What is not a refusal is a lost answer, or an answer of something in between.
      const isRepeated = !(failure instanceof RefusedError) || REPEATED.includes(failure.error);
      if (!isRepeated || attempt === ATTEMPTS) throw failure;
      const asked = failure instanceof RefusedError ? failure.retryAfterMs : 0;
      const backoff = FIRST_PAUSE_MS * 2 ** attempt * Math.random();
      await new Promise((resolve) => setTimeout(resolve, asked + backoff));
    }
  }
}

async function send(url: URL, token: string, { id, ...rest }: NewPlant, key: string): Promise<Plant> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key };
  // JSON.stringify takes no bigint: the digits of the id go in front of the other fields.
  const body = `{"id":${id},${JSON.stringify(rest).slice(1)}`;
  const signal = AbortSignal.timeout(ATTEMPT_TIMEOUT_MS);
  const response = await fetch(url, { method: 'POST', headers, body, signal });
  const answer = (await response.json()) as Plant & { error: number; message: string };
  if (response.ok) return answer;
  throw new RefusedError(answer.error, answer.message, 1000 * Number(response.headers.get('Retry-After')));
}
