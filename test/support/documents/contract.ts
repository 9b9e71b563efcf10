/** The facts of the plant store's contract, version 1.0.0, as far as an OpenAPI document can tell them. */
export const CONTRACT = {
  version: '1.0.0',
  license: 'MIT',
  security: { type: 'http', scheme: 'bearer' },
  operations: [
    {
      method: 'post',
      path: '/plants',
      description: 'Creates a new plant in the store',
      pathParameters: [],
      queryParameters: [],
      body: { required: true, content: { 'application/json': 'NewPlant' } },
      responses: {
        '200': { description: 'The plant response', content: { 'application/json': 'Plant' } },
        '400': { description: 'Unexpected error on creation', content: { 'application/json': 'Error' } },
      },
    },
  ],
  schemas: {
    Plant: {
      name: { type: 'string', required: true, meaning: 'The name of the plant' },
      tag: { type: 'string', required: false, meaning: 'Tag to specify the type' },
    },
    NewPlant: {
      id: { type: 'integer', format: 'int64', required: true, meaning: 'Identification number of the plant' },
      name: { type: 'string', required: true, meaning: 'The name of the plant' },
      tag: { type: 'string', required: false, meaning: 'Tag to specify the type' },
    },
    Error: {
      error: { type: 'integer', format: 'int32', required: true, meaning: 'Error number' },
      message: { type: 'string', required: true, meaning: 'Error message text' },
    },
  },
} as const;
