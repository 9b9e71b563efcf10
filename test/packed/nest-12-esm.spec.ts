import { describe } from '@jest/globals';
import { describeLayout } from './describe-layout.js';

describe('a host on Nest 12, in ES modules, with Vitest', () => {
  describeLayout('nest-12-esm', ['fastify']);
});
