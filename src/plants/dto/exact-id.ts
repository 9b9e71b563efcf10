import { JsonNumber } from '../../http/json-value.js';
import { parseInt64 } from '../int64.js';

/** The int64 that was sent as an id, or else, for the message, what was sent. */
export function exactId(sent: unknown): unknown {
  return sent instanceof JsonNumber && sent.isExact ? (parseInt64(sent.source) ?? sent) : sent;
}
