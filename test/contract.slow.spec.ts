import { describeStandalone } from './contract/describe-standalone.js';

describeStandalone('semantic');
