/** Whose JWTs are access tokens. */
export interface JwtOptions {
  /** The `iss` of the JWTs, exactly: the URL of an OpenID Connect issuer. */
  issuer: string;
  /** The `aud` of the JWTs, or several, of which a JWT has to have one. */
  audience: string | readonly string[];
  /** URL of the issuer's keys; what its OpenID Connect discovery document names unless given. */
  jwksUrl?: string | undefined;
}
