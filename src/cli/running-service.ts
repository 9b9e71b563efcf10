/** A service that listens, in whichever processes. */
export interface RunningService {
  /** Without a path. */
  readonly url: string;
  /** Answers the requests in flight, then ends. */
  stop: () => Promise<void>;
  /** Ends what would outlive this process, at once. */
  kill: () => void;
}
