/**
 * The name servers of this machine, which its apps ask too: a container cannot reach one that listens on
 * loopback.
 */
import { readFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { isLoopbackAddress } from './egress-address.ts';

/** systemd-resolved listens on loopback and writes the servers that it asks itself into the second file. */
const FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];
/** Libraries read no more than these. */
const SERVERS_MAX = 3;

export interface Resolvers {
  /** The addresses are of IPv4. There are none when apps can resolve no names here. */
  addresses: string[];
  /** The text of the resolv.conf of apps. */
  text: string;
}

export async function readResolvers(files: readonly string[] = FILES): Promise<Resolvers> {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => ''); // It is not there.
    const found = resolversIn(text);
    if (found.addresses.length > 0) return found;
  }
  return { addresses: [], text: '# this machine has no name server that a container can reach\n' };
}

export function resolversIn(text: string): Resolvers {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/));
  const addresses = lines
    .flatMap(([word, address = '']) => (word === 'nameserver' ? [address] : []))
    .filter((address) => isIPv4(address) && !isLoopbackAddress(address) && address !== '0.0.0.0')
    .slice(0, SERVERS_MAX);
  const rest = lines.filter(([word]) => word === 'search' || word === 'domain' || word === 'options');
  return {
    addresses,
    text: [...addresses.map((address) => `nameserver ${address}`), ...rest.map((words) => words.join(' '))]
      .map((line) => `${line}\n`)
      .join(''),
  };
}
