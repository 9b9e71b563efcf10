import { describe } from '@jest/globals';
import { PLATFORMS } from '../support/platforms.js';
import { describeLayout } from './describe-layout.js';

describe('a host on Nest 11, in CommonJS, with Jest', () => {
  describeLayout('nest-11', PLATFORMS);
});
