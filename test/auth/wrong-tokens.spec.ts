import { describeWrongTokens } from '../contract/wrong-tokens.js';

// The same with ERROR_STATUS=semantic is in semantic-statuses.slow.spec.ts.
describeWrongTokens('contract');
