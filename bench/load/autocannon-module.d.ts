/** As far as it is used here: the package has no declarations. */
declare module 'autocannon' {
  interface Request {
    body?: string;
  }

  interface Options {
    url: string;
    connections: number;
    /** Seconds. */
    duration: number;
    method: 'POST';
    headers: Record<string, string>;
    requests: { setupRequest(request: Request): Request }[];
  }

  interface Result {
    /** Seconds. */
    duration: number;
    /** Milliseconds. */
    latency: { p50: number; p99: number };
    /** Connections that broke, and requests that were not answered in time. */
    errors: number;
    statusCodeStats: Record<string, { count: number }>;
  }

  export default function autocannon(options: Options): Promise<Result> & { stop(): void };
}
