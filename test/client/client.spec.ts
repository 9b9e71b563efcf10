import { describeClient } from '../contract/client.js';

// The same with ERROR_STATUS=semantic is in semantic-statuses.slow.spec.ts.
describeClient('contract');
