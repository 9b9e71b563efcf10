/** How often credentials may be tried and used. */
export interface CredentialLimitsOptions {
  /** Wrong tokens that one address may send in a minute, before more are refused with 42900; 100 unless given, 0 for any number. */
  wrongTokenLimit?: number | undefined;
  /** Requests that may be made with one token in a minute, before more are refused with 42900; any number unless given. */
  rateLimit?: number | undefined;
}
