/**
 * The connections between the parts, each behind a proxy of its own, so that any of them can be made bad
 * alone.
 */
import type { LinkFault, LinkName } from './schedule.ts';
import { startTcpProxy, type Impairment, type TcpProxy } from '../setup/tcp-proxy.ts';

export type Links = ReturnType<typeof createLinks>;

const IMPAIRMENTS: Readonly<Record<LinkFault, Impairment>> = {
  partition: { how: 'lost', directions: ['requests', 'answers'] },
  'answers-lost': { how: 'lost', directions: ['answers'] },
  'requests-lost': { how: 'lost', directions: ['requests'] },
  // A few calls go through before it strikes.
  reset: { how: 'reset', direction: 'answers', afterBytes: 3_000 },
  'slow-network': { how: 'slow', delayMs: 200, bytesPerSecond: 10_000 },
  sliced: { how: 'sliced' },
};

export function createLinks() {
  const open = new Map<string, TcpProxy[]>();
  return {
    /** Opens a new proxy of this end of the link in front of these ports. */
    open: async (link: LinkName, index: number, ports: readonly number[]): Promise<TcpProxy> => {
      const proxy = await startTcpProxy(ports);
      const key = `${link} ${index}`;
      open.set(key, [...(open.get(key) ?? []), proxy]);
      return proxy;
    },
    /** Returns how to heal it; undefined when there is no such link. */
    impair: (link: LinkName, index: number, how: LinkFault) => {
      const proxies = open.get(`${link} ${index}`);
      if (proxies === undefined) return undefined;
      for (const proxy of proxies) proxy.impair(IMPAIRMENTS[how]);
      return (options: { readonly reset: boolean }): void => {
        for (const proxy of proxies) proxy.heal(options);
      };
    },
    close: async (): Promise<void> => {
      await Promise.all([...open.values()].flat().map(async (proxy) => await proxy.close()));
    },
  };
}

/** Returns the address that a database with several hosts on this machine has. */
export function withPorts(url: string, hosts: ReadonlyArray<{ readonly port: number }>): string {
  const { username, password, pathname } = new URL(url);
  const login = password === '' ? username : `${username}:${password}`;
  return `postgres://${login}@${hosts.map(({ port }) => `127.0.0.1:${port}`).join(',')}${pathname}`;
}
