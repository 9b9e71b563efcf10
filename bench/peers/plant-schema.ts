/** The JSON schemas of the operation, for Fastify, which validates requests and writes answers by them. */
export const PLANT_SCHEMA = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      // Of int64, what JSON.parse does not round.
      id: { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
      name: { type: 'string' },
      tag: { type: 'string' },
    },
  },
  response: {
    200: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, tag: { type: 'string' } } },
  },
};

export interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}
