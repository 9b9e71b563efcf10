import { describeClient } from '../contract/client.js';
import { describeRateLimit } from '../contract/rate-limit.js';
import { describeWrongTokens } from '../contract/wrong-tokens.js';

describeClient('semantic');
describeRateLimit('semantic');
describeWrongTokens('semantic');
