import { IssuedTokenVerifier } from '../../../dist/auth/issued-token.verifier.js';

// A host that verifies a token, and never closes its application.
const [url, token] = process.argv.slice(2);
const { name } = await new IssuedTokenVerifier({ url }).verify(token);
console.log(name);
