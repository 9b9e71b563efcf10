import { describe } from '@jest/globals';
import { describeHosts } from './describe-hosts.js';

describe('in an application of ECMAScript modules', () => {
  describeHosts('esm');
});
