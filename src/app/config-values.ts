import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { isIP } from 'node:net';
import { compile } from 'proxy-addr';
import { quote } from '../errors/quote.js';
import { Check } from '../config/check.decorator.js';
import { splitList } from '../config/text-list.decorator.js';

/** More than anybody has in a row. Each one too many would let clients choose their address. */
const MOST_PROXIES = 32;
const NUMBER = /^\d{1,3}$/;
const NETWORK_NAMES = ['loopback', 'linklocal', 'uniquelocal'];
const EVERYBODY = /^(\*|true|yes|on|all|any)$/i;
const NETWORK = /^(?<address>[^/]+)\/(?<length>\d+)$/;
const IPV4_MAPPED = /^::ffff:/i;
/** Wider ones than the private networks 10.0.0.0/8 and fc00::/7 are nobody's own. */
const SHORTEST = { ipv4: 8, ipv6: 7, mapped: 96 + 8 };
const EXPECTED =
  `should be how many proxies there are in a row (0 to ${MOST_PROXIES}), or their addresses, networks such as 10.0.0.0/8 ` +
  `and names of networks (${NETWORK_NAMES.join(', ')}), separated by commas`;

function parse(text: string): number | string[] {
  const count = text.trim();
  return NUMBER.test(count) ? Number(count) : splitList(count);
}

function findFault(value: number | string[]): string | undefined {
  if (typeof value === 'number') {
    return value <= MOST_PROXIES ? undefined : `is "${value}", ${EXPECTED}`;
  }
  const everybody = value.find((proxy) => EVERYBODY.test(proxy) || isTooWide(proxy));
  if (everybody !== undefined) {
    return `holds ${quote(everybody)}, ${EXPECTED}: if everybody was trusted, clients could choose the address that they are counted by`;
  }
  const wrong = value.filter((proxy) => !isProxy(proxy));
  return wrong.length > 0 ? `holds ${wrong.map((proxy) => quote(proxy)).join(', ')}, ${EXPECTED}` : undefined;
}

function isTooWide(text: string): boolean {
  const { address = '', length } = NETWORK.exec(text)?.groups ?? {};
  if (length === undefined || isIP(address) === 0) return false;
  const kind = isIP(address) === 4 ? 'ipv4' : IPV4_MAPPED.test(address) ? 'mapped' : 'ipv6';
  return Number(length) < SHORTEST[kind];
}

function isProxy(text: string): boolean {
  if (NETWORK_NAMES.includes(text)) return true;
  const { address = text } = NETWORK.exec(text)?.groups ?? {};
  // proxy-addr also takes what inet_aton() does: 2 for 0.0.0.2, and 010.0.0.1 for 8.0.0.1.
  if (isIP(address) === 0) return false;
  try {
    compile(text);
    return true;
  } catch {
    return false;
  }
}

/** Which proxies tell the address of a client: how many there are in a row, or where they are. */
export function TrustedProxies(): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => parse(value as string)),
    Check('trustedProxies', (value) => findFault(value as number | string[])),
  );
}
