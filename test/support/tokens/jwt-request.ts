import type { RawResponse } from '../http/raw-connection.js';
import type { Store } from '../service/store.js';

let nextId = 1;

/** Creates another plant with this token. */
export function createWith(store: Pick<Store, 'post'>, token: string): Promise<RawResponse> {
  return store.post(JSON.stringify({ id: nextId++, name: 'Rose' }), { Authorization: `Bearer ${token}` });
}

/** The number of a refusal, or 200. */
export async function outcomeOf(store: Pick<Store, 'post'>, token: string): Promise<number> {
  const { status, body } = await createWith(store, token);
  return status === 200 ? status : (JSON.parse(body) as { error: number }).error;
}
