import { describeGoodGuest } from './support/guest-host/describe-good-guest.js';

// Each platform once; the other two of the four are in the slow suite.
describeGoodGuest('express', false);
describeGoodGuest('fastify', true);
