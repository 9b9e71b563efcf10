import { RawConnection } from '../http/raw-connection.js';

/**
 * Sends bytes on a connection of their own and resolves to all that comes back until the server closes it, but for the
 * time of day.
 */
export async function exchange(port: number, ...parts: (string | Buffer)[]): Promise<string> {
  using connection = await RawConnection.open(port);
  const chunks: Buffer[] = [];
  connection.socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  connection.send(...parts);
  await connection.closed();
  return Buffer.concat(chunks)
    .toString('latin1')
    .replaceAll(/^Date: .*\r\n/gim, '');
}
