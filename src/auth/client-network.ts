import { isIP } from 'node:net';
import { nodeRequest, type PlatformRequest } from '../http/platform.js';

/** Some proxies add the port of the client. */
const WITH_PORT = /^(?:\[(?<v6>[^\]]+)\]|(?<v4>[\d.]+))(?::\d+)?$/;

/**
 * The address of the client; undefined if it is not known. Express and Fastify have it as `ip`, and heed `X-Forwarded-For` only of
 * proxies that the application trusts.
 */
export function clientAddress(request: PlatformRequest): string | undefined {
  const { ip } = request as { ip?: unknown };
  // A header may hold anything. If it is no address, the address of the sender counts.
  return addressOf(ip) ?? addressOf(nodeRequest(request).socket.remoteAddress);
}

function addressOf(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  // Most often; what follows takes longer.
  if (isIP(text) !== 0) return text;
  const { v4, v6 } = WITH_PORT.exec(text)?.groups ?? {};
  const address = v4 ?? v6;
  return address === undefined || isIP(address) === 0 ? undefined : address;
}
