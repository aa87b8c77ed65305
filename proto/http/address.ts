/**
 * Reads addresses of clients: one spelling of each, the network that stands for whoever has it, and the list
 * of proxies that are believed. Whatever counts by address counts by `networkOf`.
 */
import { BlockList, isIP, isIPv6 } from 'node:net';

/**
 * An address with a port after it, as some proxies write into X-Forwarded-For: `192.0.2.1:99`,
 * `[2001:db8::1]:99`; also quoted.
 */
const WITH_PORT = /^"?(?:\[([^\]]*)\]|([^:[\]"]+))(?::\d{1,5})?"?$/;
const MAPPED_GROUPS = 6;

/**
 * It returns the address in its one spelling: without port, brackets and zone, IPv4 as itself also where it
 * is written as IPv6. Undefined for what is none.
 */
export function readAddress(text: string): string | undefined {
  const bare = bareOf(text.trim());
  if (!bare.includes(':')) return isIP(bare) === 4 ? bare : undefined;
  const address = bare.replace(/%.*$/, '');
  return isIPv6(address) ? (mappedOf(address) ?? address.toLowerCase()) : undefined;
}

function bareOf(text: string): string {
  if (isIP(text) !== 0) return text;
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  return bracketed ?? plain ?? '';
}

/** It returns the IPv4 address of `::ffff:192.0.2.1`, `::ffff:c000:201` and the like. */
function mappedOf(address: string): string | undefined {
  if (!/ffff:/i.test(address)) return undefined;
  const groups = groupsOf(address);
  if (groups.slice(0, 5).some((group) => group !== 0) || groups[5] !== 0xffff) return undefined;
  const [high = 0, low = 0] = groups.slice(MAPPED_GROUPS);
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** It splits a valid IPv6 address into its eight groups. */
function groupsOf(address: string): readonly number[] {
  const [before = [], after] = address.split('::').map((part) =>
    part
      .split(':')
      .filter((group) => group !== '')
      .flatMap((group) => (group.includes('.') ? pairsOf(group) : [Number.parseInt(group, 16)])),
  );
  const zeros = after === undefined ? 0 : 8 - before.length - after.length;
  return [...before, ...Array.from({ length: zeros }, () => 0), ...(after ?? [])];
}

function pairsOf(address: string): readonly number[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return [a * 256 + b, c * 256 + d];
}

/**
 * Limits count this as one address: an IPv4 address, or the /64 network of an IPv6 one, which a single
 * customer has to itself.
 */
export function networkOf(address: string): string {
  if (!address.includes(':') && isIP(address) === 4) return address;
  const known = readAddress(address);
  if (known === undefined) return '';
  if (!known.includes(':')) return known;
  return groupsOf(known)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':');
}

/**
 * Returns a test that says whether an address lies in one of `ranges` (addresses or CIDR ranges). Throws a
 * RangeError on what is neither.
 */
export function addressList(ranges: readonly string[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits, ...more] = range.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    const most = family === 'ipv4' ? 32 : 128;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (isIP(address) === 0 || more.length > 0 || !(prefix <= most))
      throw new RangeError(`${JSON.stringify(range)} is not an address or a range like 10.0.0.0/8`);
    list.addSubnet(address, prefix, family);
  }
  return (text) => {
    const address = readAddress(text);
    return address !== undefined && list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  };
}
