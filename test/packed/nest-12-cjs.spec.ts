import { describe } from '@jest/globals';
import { describeLayout } from './describe-layout.js';

describe('a host on Nest 12, in CommonJS, with Jest', () => {
  describeLayout('nest-12-cjs', ['express']);
});
