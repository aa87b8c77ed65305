/** Tells public addresses from those that IANA has reserved for machines, sites, tests and translations. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/**
 * IANA's registries of special addresses, 2024. Translated addresses are excluded, because their IPv4 address
 * is checked itself.
 */
const NOT_PUBLIC_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** Some clouds have services of the machine at public-looking addresses. */
const METADATA_4 = ['168.63.129.16/32', '169.254.0.0/16', '100.100.100.200/32', '192.0.0.192/32'];
/** IANA hands out one block of IPv6; this part of it is not public. */
const GLOBAL_6 = '2000::/3';
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];
const METADATA_6 = ['fe80::/10', 'fd00:ec2::/32', 'fd20:ce::/32', 'fd00:c1::/32'];

/** The networks of IPv4 of which no address is public. */
export const NON_PUBLIC_NETWORKS: readonly string[] = [...new Set([...NOT_PUBLIC_4, ...METADATA_4])];

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const notPublic4 = listOf(NON_PUBLIC_NETWORKS, 'ipv4');
const metadata4 = listOf(METADATA_4, 'ipv4');
const global6 = listOf([GLOBAL_6], 'ipv6');
const notPublic6 = listOf(NOT_PUBLIC_6, 'ipv6');
const metadata6 = listOf(METADATA_6, 'ipv6');

/**
 * Returns false for every text that is no public address. IPv4 in IPv6, in any form, is not public: it is
 * asked for as IPv4.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublic4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return global6.check(address, 'ipv6') && !notPublic6.check(address, 'ipv6');
}

/** Tells addresses at which the machine or its cloud hands out credentials: they are never a registry. */
export function isMetadataAddress(address: string): boolean {
  if (isIPv4(address)) return metadata4.check(address, 'ipv4');
  return !isIPv6(address) || metadata6.check(address.replace(/%.*$/, ''), 'ipv6');
}

export function isLoopbackAddress(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(address) || address === '::1';
}
