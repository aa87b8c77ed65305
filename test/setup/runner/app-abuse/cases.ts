/**
 * This file lists what a hostile app tries, with the expected result. abuse.test.ts deploys apps of several
 * teams on this machine and runs this list in them; docs/sandbox.md holds its table.
 */
import { expect } from 'vitest';
import type { AbuseCase } from '../abuse.ts';
import { spelled, type Target } from './probe.ts';
import { APP_PORT, type App, type Bench } from './bench.ts';
import { ALLOWED, ALLOWED_BY_NAME, MACHINE, METADATA, NAME_SERVER, PRIVATE, PUBLIC } from './site.ts';

const tcp = (host: string, port: number): Target => ({ host, port });
const udp = (host: string, port: number): Target => ({ host, port, udp: true });

/** Expects that the filter holds the targets off, and that an app with an open network reaches them. */
async function expectHeldOff(bench: Bench, targets: readonly Target[]): Promise<void> {
  const [open, own] = await Promise.all([
    bench.reached(bench.open, targets),
    bench.reached(bench.own, targets),
  ]);
  expect(open).toEqual(targets.map(spelled));
  expect(own).toEqual([]);
}

/** The way out that every app has, and two that none has. */
async function expectFiltered(bench: Bench, app: App): Promise<void> {
  const targets = [tcp(PUBLIC, 443), tcp(METADATA, 80), tcp(app.gateway, bench.hostPort)];
  expect(await bench.reached(app, targets)).toEqual([spelled(tcp(PUBLIC, 443))]);
}

/**
 * Finds the machine's addresses without those of the networks of apps, which no other container reaches
 * either.
 */
const machineAddresses = (bench: Bench) =>
  bench.hostAddresses().filter((address) => !address.startsWith('198.19.'));

const published = (app: App): Target => tcp(MACHINE, app.hostPort);

async function usersOf(bench: Bench, app: App): Promise<number> {
  const [, first = ''] = /^\s*0\s+(\d+)\s+65536$/m.exec(await bench.run(app, 'cat /proc/self/uid_map')) ?? [];
  return Number(first);
}

export const APP_ABUSE_CASES: readonly AbuseCase<Bench>[] = [
  {
    abuse: 'root of the app: `/proc/self/uid_map`, the users of another app',
    held: 'is one of 65,536 users of the machine that nothing else has, nor another app',
    async act(bench) {
      const users = [await usersOf(bench, bench.own), await usersOf(bench, bench.foreign)];
      expect(Math.min(...users)).toBeGreaterThan(65_536);
      expect(new Set(users).size).toBe(2);
    },
  },
  {
    abuse: 'namespaces, mounts, raw sockets, `/proc/sys`: to leave the container or to forge a sender',
    held: 'refused: no capability but the one for low ports, no new privileges, the system-call filter of runs',
    async act(bench) {
      const said = await bench.run(
        bench.own,
        `unshare -n true; mount -t tmpfs none /mnt; echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; cat /proc/self/status`,
      );
      expect(said).toMatch(/unshare: .*not permitted/);
      expect(said).toMatch(/mount: .*(?:denied|not permitted)/);
      expect(said).toMatch(/disable_ipv6: Read-only file system/);
      // The mask is CAP_NET_BIND_SERVICE alone.
      expect(said).toMatch(/^CapBnd:\s+0000000000000400$/m);
      expect(said).toMatch(/^Seccomp:\s+2$/m);
    },
  },
  {
    abuse:
      'another app, of another team or of its own: its address, its network’s gateway, its published port at each address of the machine',
    held: 'not reached',
    async act(bench) {
      const others = [bench.sibling, bench.foreign];
      await expectHeldOff(
        bench,
        others.flatMap((app) => machineAddresses(bench).map((host) => tcp(host, app.hostPort))),
      );
      const direct = others.flatMap((app) => [tcp(app.address, APP_PORT), tcp(app.gateway, app.hostPort)]);
      expect(await bench.reached(bench.own, direct)).toEqual([]);
      // An app that serves beside it in the engine's own network reaches its published port alone.
      expect(await bench.reached(bench.open, [tcp(bench.own.address, APP_PORT)])).toEqual([]);
    },
  },
  {
    abuse: 'a service of the machine, at each of its addresses, those of bridges too',
    held: 'not reached',
    async act(bench) {
      expect(bench.hostAddresses()).toEqual(expect.arrayContaining([bench.own.gateway, MACHINE]));
      await expectHeldOff(
        bench,
        machineAddresses(bench).map((host) => tcp(host, bench.hostPort)),
      );
      const gateways = [bench.own, bench.sibling, bench.open].map(({ gateway }) => gateway);
      expect(
        await bench.reached(
          bench.own,
          gateways.map((host) => tcp(host, bench.hostPort)),
        ),
      ).toEqual([]);
    },
  },
  {
    abuse: 'metadata addresses, private and shared networks',
    held: 'not reached, by whatever name; what `--allow-egress` names is, by TCP at its port: names are looked up again every 30 s',
    async act(bench) {
      await expectHeldOff(bench, [
        ...[METADATA, ...PRIVATE].flatMap((host) => [tcp(host, 80), tcp(host, 5432)]),
        udp(METADATA, 53),
        tcp(ALLOWED, 80),
        udp(ALLOWED, 53),
      ]);
      const allowed = [ALLOWED, ALLOWED_BY_NAME].map((host) => tcp(host, 5432));
      expect(await bench.reached(bench.own, allowed)).toEqual(allowed.map(spelled));
    },
  },
  {
    abuse: 'public addresses',
    held: 'reached by TCP, at every port but 25: mail goes through a provider’s port for submission. UDP and ICMP do not leave',
    async act(bench) {
      const open = [80, 443, 5432].map((port) => tcp(PUBLIC, port));
      expect(await bench.reached(bench.own, open)).toEqual(open.map(spelled));
      await expectHeldOff(bench, [tcp(PUBLIC, 25), udp(PUBLIC, 53), udp(PUBLIC, 443)]);
      expect([await bench.pings(bench.open, PUBLIC), await bench.pings(bench.own, PUBLIC)]).toEqual([
        true,
        false,
      ]);
    },
  },
  {
    abuse: 'IPv6: the link-local address of its bridge, other addresses of the machine',
    held: 'there is no IPv6 in an app but its loopback',
    async act(bench) {
      const addresses = await bench.run(bench.own, 'cat /proc/net/if_inet6');
      expect(addresses.split('\n').filter((line) => !line.endsWith(' lo') && line !== '')).toEqual([]);
      expect(await bench.run(bench.open, 'cat /proc/net/if_inet6')).toContain('eth0');
    },
  },
  {
    abuse: 'name servers',
    held: 'those that the machine itself asks are reached, at port 53; one on the machine’s loopback is not, nor any other',
    async act(bench) {
      expect(await bench.run(bench.own, 'cat /etc/resolv.conf')).toBe(`nameserver ${NAME_SERVER}\n`);
      const asked = [udp(NAME_SERVER, 53), tcp(NAME_SERVER, 53)];
      expect(await bench.reached(bench.own, asked)).toEqual(asked.map(spelled));
      await expectHeldOff(bench, [tcp(NAME_SERVER, 80), udp(PRIVATE[0] ?? '', 53)]);
    },
  },
  {
    abuse: 'calls from outside, to the app’s own address past its published port',
    held: 'the published port is the only way in',
    async act(bench) {
      const { own, site } = bench;
      expect(await site.reached([published(own)])).toEqual([spelled(published(own))]);
      expect((await fetch(`http://127.0.0.1:${own.hostPort}/passwd`)).status).toBe(200);
      expect(await site.reached([tcp(own.address, APP_PORT), tcp(own.address, 80)])).toEqual([]);
    },
  },
  {
    abuse: 'rules that a reload of the firewall took away',
    held: 'are back within seconds while the daemon runs',
    async act(bench) {
      const before = await bench.rules();
      await bench.flushRules();
      expect(await bench.rules()).not.toBe(before);
      await bench.deployers.check();
      await expectFiltered(bench, bench.own);
    },
  },
  {
    abuse: 'ends itself, or is restarted, to come up without rules',
    held: 'has the same network and users again; the runner starts an app that has ended, after the rules are made',
    async act(bench) {
      const { own, keeper } = bench;
      await bench.podman('restart', '--time=0', own.container);
      await expectFiltered(bench, own);
      await bench.podman('kill', own.container);
      await bench.podman('wait', own.container);
      await keeper.startEnded();
      expect(await bench.state(own)).toBe('running');
      // Servers write logs to it by its name.
      expect(await bench.podman('logs', '--tail=1', own.container)).toBe('up');
      await expectFiltered(bench, own);
      expect(await usersOf(bench, own)).toBeGreaterThan(65_536);
    },
  },
  {
    abuse: 'fork bomb and memory fill',
    held: 'end at the app’s own limits (`--deploy-memory-mb`, `--deploy-cpus`, `--deploy-pids`); other apps serve on',
    async act(bench) {
      const { own, foreign } = bench;
      expect(await bench.run(own, 'for i in $(yes | head -n 200); do sleep 2 & done')).toMatch(/can't fork/);
      await bench.run(own, 'dd if=/dev/zero bs=1M count=2000 | tail');
      expect((await fetch(`http://127.0.0.1:${foreign.hostPort}/passwd`)).status).toBe(200);
    },
  },
];
