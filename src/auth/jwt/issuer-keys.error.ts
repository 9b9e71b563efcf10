/** The keys of a JWT issuer can't be had now, and why. */
export class IssuerKeysError extends Error {
  override readonly name = 'IssuerKeysError';

  constructor(
    issuer: string,
    /** In one line, without anything of a token. */
    readonly reason: string,
  ) {
    super(`The keys of the JWT issuer ${issuer} cannot be fetched: ${reason}`);
    // It is logged with each request that needs the keys, and where it was made says nothing.
    this.stack = `${this.name}: ${this.message}`;
  }
}
