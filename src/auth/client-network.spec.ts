import { describe, expect, it } from '@jest/globals';
import type { PlatformRequest } from '../http/platform.js';
import { clientNetwork } from './client-network.js';

/** A request as Express has it, or as Fastify does. */
const requestFrom = (remoteAddress: string | undefined, ip: unknown): PlatformRequest =>
  ({ ip, socket: { remoteAddress } }) as unknown as PlatformRequest;
const fastifyRequestFrom = (remoteAddress: string | undefined, ip: unknown): PlatformRequest =>
  ({ ip, raw: { socket: { remoteAddress } } }) as unknown as PlatformRequest;

describe(clientNetwork.name, () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:51234', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:C000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:51234', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::ffff', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::7]', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::7]:51234', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:1::1', '2001:db8:0:0::/64'],
    ['2001:db8::1:0:0:0:1', '2001:db8:0:1::/64'],
    ['1::', '1:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['::192.0.2.1', '0:0:0:0::/64'],
    ['64:ff9b:1:2::192.0.2.1', '64:ff9b:1:2::/64'],
  ])('should take %s for %s', (ip, network) => {
    expect(clientNetwork(requestFrom('198.51.100.1', ip))).toBe(network);
    expect(clientNetwork(fastifyRequestFrom('198.51.100.1', ip))).toBe(network);
    expect(clientNetwork(requestFrom(ip, undefined))).toBe(network);
  });

  it.each([
    '',
    ' ',
    'unknown',
    '_hidden',
    'localhost',
    '999.0.2.1',
    '192.0.2.1.5',
    '192.0.2',
    '3221225985',
    '192.0.2.1:port',
    '192.0.2.1 ',
    '[192.0.2.1',
    '[]:80',
    '[hidden]',
    '1:2:3:4:5:6:7:8:9',
    '::ffff:999.0.2.1',
    '%',
    `2001:db8::1${'0'.repeat(10_000)}`,
    7,
    null,
    ['192.0.2.1'],
  ])('should count %p, which is no address, for the other end of the connection', (ip) => {
    expect(clientNetwork(requestFrom('198.51.100.1', ip))).toBe('198.51.100.1');
    expect(clientNetwork(fastifyRequestFrom('2001:db8::1', ip))).toBe('2001:db8:0:0::/64');
  });

  it('should take those without any address for one', () => {
    expect(clientNetwork(requestFrom(undefined, undefined))).toBe(clientNetwork(fastifyRequestFrom(undefined, '?')));
  });
});
