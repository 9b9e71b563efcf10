import { describeGoodGuest } from './support/guest-host/describe-good-guest.js';

describeGoodGuest('express', true);
describeGoodGuest('fastify', false);
