/** A page as Prometheus reads it. */
export interface MetricsPage {
  contentType: string;
  content: string;
}

/** Tells what the service has done and is doing, in numbers. */
export abstract class MetricsSource {
  abstract page(): Promise<MetricsPage>;
}
