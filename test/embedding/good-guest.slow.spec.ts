import { describeGoodGuest } from '../support/host/guest-host/describe-good-guest.js';

describeGoodGuest({ platform: 'express', rawBody: true }, { platform: 'fastify', rawBody: false });
describeGoodGuest({ platform: 'express', rawBody: false }, { platform: 'fastify', rawBody: true });
