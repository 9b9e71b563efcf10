import { describeGoodGuest } from './support/guest-host/describe-good-guest.js';

// Each platform once; the other two of the four are in the slow suite.
describeGoodGuest({ platform: 'express', rawBody: false }, { platform: 'fastify', rawBody: true });
