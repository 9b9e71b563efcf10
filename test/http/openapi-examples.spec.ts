import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OpenAPIObject, RequestBodyObject } from '@nestjs/swagger';
import { createPlantOf, examplesOf, generateOpenApi } from '../support/documents/openapi.js';
import { startStore, type Store } from '../support/service/store.js';

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
});
