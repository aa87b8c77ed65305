/**
 * Tests what the rules of apps are made of; that the kernel holds them is tested with real apps
 * (deploy/abuse.test.ts).
 */
import { writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { createAllowedAddresses } from './allowed-addresses.ts';
import { rulesOf } from './app-rules.ts';
import { isPublicAddress } from './egress-address.ts';
import { freeSubnet } from './engine-networks.ts';
import { readResolvers, resolversIn } from './resolvers.ts';

describe('rulesOf()', () => {
  const rules = rulesOf({
    owner: 'abc',
    networks: [{ subnet: '198.19.0.0/28', bridge: 'bridge7' }],
    resolvers: ['10.0.0.53'],
    allowed: [{ address: '10.0.0.9', port: 5432 }],
  });

  it('drops exactly the addresses that builds do not reach either', () => {
    const dropped = new BlockList();
    for (const rule of rules) {
      const [, address, bits] = /^-A SVC-abc-APP -d ([\d.]+)\/(\d+) -j DROP$/.exec(rule) ?? [];
      if (address !== undefined) dropped.addSubnet(address, Number(bits), 'ipv4');
    }
    // Each first byte, with second bytes at which networks begin or end.
    for (let first = 0; first < 256; first += 1)
      for (const rest of [
        '0.0.1',
        '0.2.1',
        '18.0.1',
        '19.255.254',
        '31.196.1',
        '51.100.1',
        '52.193.1',
        '63.129.16',
        '64.0.1',
        '88.99.1',
        '100.100.200',
        '127.255.1',
        '128.0.1',
        '168.0.1',
        '169.0.1',
        '175.48.1',
        '254.169.254',
      ]) {
        const address = `${first}.${rest}`;
        expect([address, dropped.check(address, 'ipv4')]).toEqual([address, !isPublicAddress(address)]);
      }
  });

  it('lets exceptions pass before anything is dropped, and replies before them', () => {
    const at = (part: string) => rules.findIndex((rule) => rule.includes(part));
    const order = [
      '-s 198.19.0.0/28 -d 198.19.0.0/28 -i bridge7 -m addrtype ! --dst-type LOCAL -j RETURN',
      '-s 198.19.0.0/28 -g SVC-abc-APP',
      '-d 198.19.0.0/28 -j DROP',
      '--ctstate ESTABLISHED --ctdir REPLY -j RETURN',
      '-d 10.0.0.53/32 -p udp -m udp --dport 53 -j RETURN',
      '-d 10.0.0.9/32 -p tcp -m tcp --dport 5432 -j RETURN',
      '! -p tcp -j DROP',
      '--dport 25 -j DROP',
      '--dst-type LOCAL -j DROP',
      '-d 10.0.0.0/8 -j DROP',
    ].map(at);
    expect(order).toEqual([...order].sort((one, other) => one - other));
    expect(order).not.toContain(-1);
  });
});

describe('readResolvers()', () => {
  it('takes the servers behind a resolver on loopback, and none where there is none', async () => {
    const folder = tempDir();
    const [stub, behind] = [join(folder, 'resolv.conf'), join(folder, 'behind.conf')];
    writeFileSync(stub, '# made by systemd\nnameserver 127.0.0.53\noptions edns0\n');
    expect(await readResolvers([stub, behind])).toMatchObject({ addresses: [] });
    writeFileSync(behind, 'nameserver 10.0.0.53\nsearch site.test\n');
    expect(await readResolvers([stub, behind])).toEqual({
      addresses: ['10.0.0.53'],
      text: 'nameserver 10.0.0.53\nsearch site.test\n',
    });
  });

  it('leaves out what is no address of IPv4, or this machine’s own', () => {
    const text = [
      '::1',
      'fe80::1%eth0',
      '2001:db8::53',
      '0.0.0.0',
      '127.0.0.1',
      'localhost',
      '1.1.1.1 # x',
      '',
    ];
    expect(resolversIn(text.map((address) => `nameserver ${address}\n`).join('')).addresses).toEqual([
      '1.1.1.1',
    ]);
  });
});

describe('createAllowedAddresses()', () => {
  it('looks names up again after a while, and keeps the last addresses when that fails', async () => {
    let answer: string[] | undefined = ['10.0.0.9', '2001:db8::9', '127.0.0.1'];
    let nowMs = 0;
    const allowed = createAllowedAddresses({
      endpoints: [
        { host: 'db.test', port: 5432 },
        { host: '192.168.1.1', port: 80 },
        { host: '::1', port: 80 },
        { host: '127.0.0.1', port: 80 },
      ],
      resolve: async () => answer ?? Promise.reject(new Error('no server')),
      nowMs: () => nowMs,
    });
    const read = async (afterMs: number) => {
      nowMs += afterMs;
      return (await allowed.read()).map(({ address, port }) => `${address}:${port}`);
    };
    expect(await read(0)).toEqual(['10.0.0.9:5432', '192.168.1.1:80']);
    answer = ['10.0.0.10'];
    expect(await read(29_000)).toEqual(['10.0.0.9:5432', '192.168.1.1:80']);
    expect(await read(1_000)).toEqual(['10.0.0.10:5432', '192.168.1.1:80']);
    answer = undefined;
    expect(await read(30_000)).toEqual(['10.0.0.10:5432', '192.168.1.1:80']);
  });
});

describe('freeSubnet()', () => {
  it('takes the first that is free, and ends with the pool', () => {
    expect(freeSubnet(new Set(['198.19.0.0/28']))).toBe('198.19.0.16/28');
    const all = new Set<string>();
    for (let subnet = freeSubnet(all); subnet !== undefined; subnet = freeSubnet(all)) {
      all.add(subnet);
      if (all.size > 64) break;
    }
    expect([...all].at(-1)).toBe('198.19.4.0/28');
  });
});
