import { isIP, SocketAddress } from 'node:net';
import { nodeRequest, type PlatformRequest } from '../http/platform.js';

/** The key of clients with an unknown address: on a Unix socket, or gone before their token was checked. */
const UNKNOWN = 'unknown';

/** Some proxies add the port of the client. */
const WITH_PORT = /^(?:\[(?<v6>[^\]]+)\]|(?<v4>[\d.]+))(?::\d+)?$/;
const IPV4_MAPPED = /^::ffff:(?<v4>[\d.]+)$/;

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

/** What a request is counted by: the IPv4 address of its client, or the /64 of its IPv6 address, as that is what one client has at least. */
export function clientNetwork(request: PlatformRequest): string {
  const text = clientAddress(request);
  if (text === undefined) return UNKNOWN;
  if (isIP(text) === 4) return text;
  // Without its zone, which SocketAddress does not take, and in the one spelling of RFC 5952.
  const [zoneless = ''] = text.split('%', 1);
  const { address } = new SocketAddress({ address: zoneless, family: 'ipv6' });
  const mapped = IPV4_MAPPED.exec(address)?.groups?.v4;
  if (mapped !== undefined) return mapped;
  const [left = [], right = []] = address.split('::', 2).map((part) => part.split(':').filter(Boolean));
  while (left.length + right.length < 8) left.push('0');
  return `${[...left, ...right].slice(0, 4).join(':')}::/64`;
}
