import { describeStandalone } from './describe-standalone.js';

// The same with ERROR_STATUS=semantic is in the slow suite.
describeStandalone('contract');
