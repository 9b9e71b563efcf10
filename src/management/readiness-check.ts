/** Tells whether what the service depends on can be used now. */
export abstract class ReadinessCheck {
  /**
   * Rejects with an error whose message is the reason, fit to be shown: it holds no secret.
   * It must settle some time: no second check starts before it has.
   */
  abstract check(): Promise<void>;

  /** What else an answer tells, ready or not. */
  details(): object {
    return {};
  }
}
