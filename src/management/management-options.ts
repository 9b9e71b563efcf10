/** Options of the management module. */
export interface ManagementOptions {
  /** Where the listener is bound; none where another process answers for this one. */
  listener?: ListenerAddress | undefined;
  /** Milliseconds that a readiness check may take until the service counts as unavailable; 2000 by default. */
  checkTimeout?: number;
}

export interface ListenerAddress {
  host: string;
  /** 0 takes any free one. */
  port: number;
}
