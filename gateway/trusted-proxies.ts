import { BlockList, isIP } from 'node:net';

/** Whether a peer is one of `proxies` (addresses or CIDR ranges), IPv4 also in its IPv6 form. Throws a RangeError on what is neither. */
export function proxyCheck(proxies: readonly string[]): (address: string) => boolean {
  if (proxies.length === 0) return () => false;
  const list = new BlockList();
  for (const range of proxies) {
    const [address = '', bits] = range.split('/');
    const family = familyOf(address);
    const most = family === 'ipv6' ? 128 : 32;
    const prefix = bits === undefined ? most : Number(bits);
    if (family === undefined || !Number.isInteger(prefix) || prefix < 0 || prefix > most) {
      throw new RangeError(
        `trusted proxy ${JSON.stringify(range)} is not an address or a range like 10.0.0.0/8`,
      );
    }
    list.addSubnet(address, prefix, family);
  }
  return (peer) => {
    const address = peer.startsWith('::ffff:') && peer.includes('.') ? peer.slice('::ffff:'.length) : peer;
    const family = familyOf(address);
    return family !== undefined && list.check(address, family);
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 6 ? 'ipv6' : 'ipv4';
}
