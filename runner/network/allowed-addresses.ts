/**
 * Looks up the operator's exceptions as addresses: the kernel filters no names, so names are looked up again
 * and again.
 */
import { lookup } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import { monotonicMs } from '../platform/clock.ts';
import { isLoopbackAddress } from './egress-address.ts';
import type { Endpoint } from './egress.ts';

const LOOKUP_MS = 30_000;

export interface AllowedOptions {
  endpoints: readonly Endpoint[];
  /** Replaced in tests. */
  resolve?: ((name: string) => Promise<string[]>) | undefined;
  nowMs?: () => number;
}

export function createAllowedAddresses({
  endpoints,
  resolve = resolveName,
  nowMs = monotonicMs,
}: AllowedOptions) {
  const known = new Map<string, { atMs: number; addresses: string[] }>();
  const addressesOf = async (host: string): Promise<string[]> => {
    if (isIP(host) !== 0) return [host];
    const last = known.get(host);
    if (last !== undefined && nowMs() - last.atMs < LOOKUP_MS) return last.addresses;
    const addresses = await resolve(host).catch(() => last?.addresses ?? []);
    // Sorted, because servers turn the order at each answer.
    known.set(host, { atMs: nowMs(), addresses: [...addresses].sort() });
    return known.get(host)?.addresses ?? [];
  };
  return {
    /** Never rejects: a name that cannot be looked up keeps the addresses that it had. */
    async read() {
      const found = await Promise.all(
        endpoints.map(async ({ host, port }) =>
          (await addressesOf(host))
            // Apps have no IPv6, and the loopback of an app is its own.
            .filter((address) => isIPv4(address) && !isLoopbackAddress(address))
            .map((address) => ({ address, port })),
        ),
      );
      return found.flat();
    },
  };
}

/** The hosts file counts: the operator wrote the name. */
async function resolveName(name: string): Promise<string[]> {
  return (await lookup(name, { all: true, family: 4 })).map(({ address }) => address);
}
