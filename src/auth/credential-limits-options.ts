/** How often credentials may be tried and used. */
export interface CredentialLimitsOptions {
  /**
   * Wrong tokens that one address may send in a minute, before more are refused with 42900; 100 unless given, 0 for any number.
   * An address is `request.ip`, as the application's platform has it.
   */
  wrongTokenLimit?: number | undefined;
  /** Requests that may be made with one token in a minute, before more are refused with 42900; any number unless given, or with 0. */
  rateLimit?: number | undefined;
}
