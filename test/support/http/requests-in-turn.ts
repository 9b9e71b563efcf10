import { RawConnection, type RawResponse } from './raw-connection.js';
import { postHead, type RequestHeaders } from './request.js';

/** How a request differs from a create with a valid token. */
export interface RequestInTurn {
  body?: string;
  headers?: RequestHeaders;
}

/** The answers to requests that are sent one after the other on one connection. */
export async function sendInTurn(port: number, requests: Iterable<RequestInTurn>): Promise<RawResponse[]> {
  using connection = await RawConnection.open(port);
  const responses: RawResponse[] = [];
  for (const { body = '{}', headers } of requests) {
    connection.send(postHead('', body, headers), body);
    const response = await connection.response();
    if (!response) throw new Error(`the server closed the connection before answer ${responses.length + 1}`);
    responses.push(response);
  }
  return responses;
}

/** So many requests, each with another wrong token, and with these headers. */
export function wrongTokens(count: number, headers: RequestHeaders = {}): RequestInTurn[] {
  return Array.from({ length: count }, (_, index) => ({
    headers: { Authorization: `Bearer a-wrong-token-of-many-${index}`, ...headers },
  }));
}

/** The error numbers of answers, 200 for successes. */
export function outcomes(responses: readonly RawResponse[]): number[] {
  return responses.map(({ body }) => (JSON.parse(body) as { error?: number }).error ?? 200);
}

/** So many of one outcome. */
export function times(count: number, outcome: number): number[] {
  return Array.from({ length: count }, () => outcome);
}
