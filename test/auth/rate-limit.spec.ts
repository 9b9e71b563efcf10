import { describeRateLimit } from '../contract/rate-limit.js';

// The same with ERROR_STATUS=semantic is in semantic-statuses.slow.spec.ts.
describeRateLimit('contract');
