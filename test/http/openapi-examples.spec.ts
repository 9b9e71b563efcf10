import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, RequestBodyObject } from '@nestjs/swagger';
import type { ErrorBody } from '../../src/errors/api-error.js';
import { createPlantOf, examplesOf, generateOpenApi } from '../support/documents/openapi.js';
import { startStore, type Store } from '../support/service/store.js';
import { issueToken } from '../support/tokens/issued-token.js';

/** For each failure that the document gives an example of, what provokes it once the examples of the request are stored. */
const PROVOCATIONS: Record<string, (store: Store) => ReturnType<Store['post']>> = {
  '40003': (store) => store.post('{"id": 3}'),
  '40100': (store) => store.post('{}', { Authorization: undefined }),
  '40101': (store) => store.post('{}', { Authorization: 'Bearer some-token-of-nobody' }),
  '40300': async (store) => store.post('{}', (await issueToken(store.database, { scopes: [] })).headers),
  '40901': (store) => store.post('{"id": 1, "name": "Rose", "tag": "flower"}'),
  '40902': async (store) => {
    await store.database.query("UPDATE plants SET idempotency_key = 'key' WHERE id = 1");
    return await store.post('{"id": 1, "name": "Lily"}', { 'Idempotency-Key': 'key' });
  },
  '50300': async (store) => {
    await store.database.drop();
    return await store.post('{"id": 3, "name": "Rose"}');
  },
};

describe('examples of the OpenAPI document', () => {
  let document: OpenAPIObject;
  let store: Store;

  beforeAll(async () => {
    [document, store] = await Promise.all([generateOpenApi(), startStore()]);
  });
  afterAll(() => store.stop());

  it('should be answered as the document says when they are sent as they are', async () => {
    const { requestBody, responses } = createPlantOf(document);
    const requests = examplesOf(requestBody as RequestBodyObject);
    const answers: Record<string, unknown> = {};
    for (const [name, plant] of Object.entries(requests)) {
      const { status, body } = await store.post(JSON.stringify(plant));
      expect(status).toBe(200);
      answers[name] = JSON.parse(body);
    }
    expect(answers).toEqual(examplesOf(responses['200']));
    expect(Object.keys(answers).length).toBeGreaterThan(1);
  });

  it('should be the very answers of the store if it refuses', async () => {
    const examples = examplesOf<ErrorBody>(createPlantOf(document).responses['400']);
    expect(Object.keys(examples)).toEqual(Object.keys(PROVOCATIONS));
    for (const [number, provoke] of Object.entries(PROVOCATIONS)) {
      const { status, body } = await provoke(store);
      expect({ status, body: JSON.parse(body) as ErrorBody }).toEqual({ status: 400, body: examples[number] });
    }
  });
});
