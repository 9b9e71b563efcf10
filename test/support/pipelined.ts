import { RawConnection, type RawResponse } from './raw-connection.js';
import { postHead, type RequestHeaders } from './request.js';

export interface PipelinedCreate {
  body: string;
  headers?: RequestHeaders;
}

/** Sends creates in one piece, so that they come to the writer together, and returns their answers in order. */
export async function createTogether(
  port: number,
  creates: readonly PipelinedCreate[],
): Promise<(RawResponse | undefined)[]> {
  using connection = await RawConnection.open(port);
  connection.send(creates.map(({ body, headers }) => postHead('', body, headers) + body).join(''));
  const responses = [];
  while (responses.length < creates.length) responses.push(await connection.response());
  return responses;
}
