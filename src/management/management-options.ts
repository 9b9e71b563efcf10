/** Options of the management module. */
export interface ManagementOptions {
  /** Address that the listener binds to. */
  host: string;
  /** Port of the listener; 0 takes any free one. */
  port: number;
  /** Milliseconds that a readiness check may take until the service counts as unavailable; 2000 by default. */
  checkTimeout?: number;
}
