import type { SpanReference } from '../http/platform.js';

let current: SpanReference | undefined;

/**
 * Runs what creates a plant for a request with this span. It is known until the first await only: from there on, only a context
 * manager could tell whose turn it is, and that costs more than all the spans.
 */
export function withSpan<T>(span: SpanReference | undefined, run: () => T): T {
  current = span;
  try {
    return run();
  } finally {
    current = undefined;
  }
}

/** The span of our own request for which this code runs. */
export function requestSpan(): SpanReference | undefined {
  return current;
}
