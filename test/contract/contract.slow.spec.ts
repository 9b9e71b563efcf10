import { describeStandalone } from './describe-standalone.js';

describeStandalone('semantic');
