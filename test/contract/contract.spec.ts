import { describeStandalone } from './describe-contract.js';

// The same with ERROR_STATUS=semantic is in the slow suite.
describeStandalone('contract');
