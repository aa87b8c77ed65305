/**
 * This file tests the egress of a build's network: the addresses that it dials, by names and without, and
 * that no packet breaks its name server.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, connect, type AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { runCommand } from '../executor/command.ts';
import { isMetadataAddress, isPublicAddress } from './egress-address.ts';
import { createNames, NAME_SERVER, questionOf, replyTo } from './egress-dns.ts';
import { endpointOf, enterArgv, openEgress, type Endpoint, type EgressRules } from './egress.ts';
import { imagesOf, portsIn } from '../build/image.ts';

describe('isPublicAddress()', () => {
  it.each(['93.184.216.34', '1.1.1.1', '172.15.0.1', '172.32.0.1', '2606:4700::1111', '2a00:1450::1'])(
    'takes %s',
    (address) => expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '127.9.9.9',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.0.0.192',
    '198.18.0.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
    '168.63.129.16',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::ffff:93.184.216.34',
    '::10.0.0.1',
    '64:ff9b::a00:1',
    '64:ff9b:1::a00:1',
    '2002:a00:1::',
    '2001:0:a00:1::',
    '2001:db8::1',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'ff02::1',
    '2606:4700::1111%eth0',
    '',
    'localhost',
    '0x7f000001',
    '2130706433',
    '010.0.0.1',
    '1.1.1',
  ])('refuses %j', (address) => expect(isPublicAddress(address)).toBe(false));

  it('knows what hands out credentials', () => {
    for (const address of [
      '169.254.169.254',
      '100.100.100.200',
      'fd00:ec2::254',
      'fe80::a9fe:a9fe',
      'nonsense',
    ])
      expect(isMetadataAddress(address), address).toBe(true);
    for (const address of ['10.0.0.1', '127.0.0.1', 'fd12::1'])
      expect(isMetadataAddress(address), address).toBe(false);
  });
});

function question(name: string, type = 1): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  const tail = Buffer.from([0, 0, type, 0, 1]);
  return Buffer.concat([Buffer.from([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]), ...labels, tail]);
}

describe('the server of names', () => {
  it('has an address for each name that is there, always the same, and none for others', async () => {
    const names = createNames();
    const exists = async (name: string) =>
      name === 'there.test'
        ? ('yes' as const)
        : name === 'broken.test'
          ? ('unknown' as const)
          : ('no' as const);
    const codeOf = async (packet: Buffer) => ((await replyTo(packet, names, exists))?.readUInt8(3) ?? 0) & 15;
    const first = await replyTo(question('There.test'), names, exists);
    const again = await replyTo(question('there.test'), names, exists);
    expect(first?.subarray(-4)).toEqual(again?.subarray(-4));
    expect(names.nameOf([...(first?.subarray(-4) ?? [])].join('.'))).toBe('there.test');
    expect((await replyTo(question('there.test', 28), names, exists))?.readUInt16BE(6)).toBe(0);
    expect(await codeOf(question('absent.test'))).toBe(3);
    expect(await codeOf(question('broken.test'))).toBe(2);
    expect(await codeOf(question('bad name.test'))).toBe(3);
  });

  it('takes any bytes for what they are', async () => {
    const good = question('there.test');
    for (let length = 0; length <= good.length; length += 1) {
      for (const byte of [0, 63, 192, 255]) {
        const packet = Buffer.from(good.subarray(0, length));
        if (length > 12) packet[12] = byte;
        questionOf(packet);
        await replyTo(packet, createNames(), async () => 'yes');
      }
    }
    expect(questionOf(good)).toEqual({ name: 'there.test', type: 1, end: good.length });
    expect(questionOf(Buffer.alloc(600, 1))).toBeUndefined();
  });
});

const root = process.geteuid?.() === 0;

/** Makes a network with the egress, a server outside, and a client inside. */
async function network(rules: Partial<EgressRules>, answers: Record<string, string[]> = {}) {
  const server = createServer((socket) => socket.end('from outside'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const holder = spawn(
    'unshare',
    ['--net', 'sh', '-c', 'ip link set lo up; ip route add local default dev lo; echo ready; exec sleep 60'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  await once(holder.stdout, 'data');
  const pid = holder.pid ?? 0;
  const within = { pid, usersPid: pid };
  const called: Endpoint[] = [];
  const refused: string[] = [];
  const egress = await openEgress(within, {
    allowed: [],
    env: {},
    refused: (line) => void refused.push(line),
    hostNetwork: {
      resolve: async (name) => answers[name] ?? [],
      dial(endpoint) {
        called.push(endpoint);
        return connect({ host: '127.0.0.1', port, allowHalfOpen: true });
      },
    },
    ...rules,
  });
  onTestFinished(() => {
    egress.close();
    holder.kill('SIGKILL');
    server.close();
  });
  return {
    called,
    refused,
    /** Asks what the network's name server says of a name. */
    async lookUp(name: string): Promise<string> {
      const script = `const r=new (require('dns').promises.Resolver)();r.setServers(['${NAME_SERVER}']);r.resolve4('${name}').then(([a])=>console.log(a),e=>console.log(e.code))`;
      const enter = [...enterArgv(within), process.execPath, '-e', script];
      return (await runCommand(enter, { timeoutMs: 30_000 })).stdout.trim();
    },
    async call(host: string, to: number): Promise<string> {
      const script = `const s=require('net').connect(${to},'${host}');s.on('data',d=>process.stdout.write(d));s.on('error',e=>console.log(e.code))`;
      const enter = [...enterArgv(within), process.execPath, '-e', script];
      return (await runCommand(enter, { timeoutMs: 30_000 })).stdout.trim();
    },
  };
}

describe.runIf(root && (await has('namespaces')))('openEgress()', { timeout: 120_000 }, () => {
  it('calls public addresses and nothing else', async () => {
    const { call, called, refused } = await network({});
    expect(await call('93.184.216.34', 443)).toBe('from outside');
    expect(await call('10.0.0.1', 443)).toBe('ECONNRESET');
    expect(await call('127.0.0.1', 443)).toBe('ECONNRESET');
    expect(await call('169.254.169.254', 80)).toBe('ECONNRESET');
    expect(await call('93.184.216.34', 25)).toBe('ECONNREFUSED');
    expect(called).toEqual([{ host: '93.184.216.34', port: 443 }]);
    expect(refused).toContain('10.0.0.1:443 is not reached: it is no public address');
  });

  it('tells nothing of what it refuses: neither whether a private name exists, nor what it stands for', async () => {
    const answers = {
      'inner.test': ['10.0.0.1', 'fd00::1'],
      'loop.test': ['127.0.0.1'],
      'mixed.test': ['10.0.0.1', '93.184.216.34'],
    };
    const { call, called, lookUp, refused } = await network({}, answers);
    for (const name of ['inner.test', 'loop.test', 'absent.test'])
      expect(await lookUp(name)).toBe('ENOTFOUND');
    const address = await lookUp('mixed.test');
    answers['mixed.test'] = ['10.0.0.1'];
    expect(await call(address, 443)).toBe('ECONNRESET');
    await call('10.0.0.1', 443);
    expect(called).toEqual([]);
    expect(refused).toEqual(
      ['mixed.test', '10.0.0.1'].map((host) => `${host}:443 is not reached: it is no public address`),
    );
  });

  it("reaches the build's registry where it is, in calls in which nothing of the build runs", async () => {
    const loopback = await network({ registry: { host: 'localhost', port: 5000, privateToo: false } });
    expect(await loopback.call('127.0.0.1', 5000)).toBe('from outside');
    expect(await loopback.call('127.0.0.1', 443)).toBe('ECONNRESET');
    const own = await network({ registry: { host: '10.0.0.9', port: 5000, privateToo: true } });
    expect(await own.call('10.0.0.9', 5000)).toBe('from outside');
    expect(await own.call('10.0.0.8', 5000)).toBe('ECONNRESET');
  });

  it('reaches no private registry in the service’s pool, and metadata nowhere, unless the operator says so', async () => {
    const shared = await network({ registry: { host: '10.0.0.9', port: 5000, privateToo: false } });
    expect(await shared.call('10.0.0.9', 5000)).toBe('ECONNRESET');
    const metadata = await network({ registry: { host: '169.254.169.254', port: 80, privateToo: true } });
    expect(await metadata.call('169.254.169.254', 80)).toBe('ECONNRESET');
    const operator = await network({ allowed: [{ host: '10.0.0.9', port: 8081 }] });
    expect(await operator.call('10.0.0.9', 8081)).toBe('from outside');
  });
});

describe('what a Dockerfile says of the network', () => {
  it('is read for ports and for images of the own registry', () => {
    expect(
      portsIn('ADD http://a.test:8081/x /x\nFROM reg.test:5000/a/b:1\nRUN curl [::1]:70000/ :9/'),
    ).toEqual([8081, 5000]);
    const text =
      'FROM reg.test:5000/a/b:1 AS x\nCOPY --from=reg.test:5000/c@sha256:00 / /\nRUN --mount=from=reg.test:5000/d,target=/m x\nFROM reg.test:5000/$V';
    expect(imagesOf('reg.test:5000/', text)).toEqual([
      'reg.test:5000/a/b:1',
      'reg.test:5000/c@sha256:00',
      'reg.test:5000/d',
    ]);
    expect(imagesOf(undefined, text)).toEqual([]);
  });

  it.each([
    ['reg.test', { host: 'reg.test', port: 443 }],
    ['Reg.test:5000', { host: 'reg.test', port: 5000 }],
    ['[fd00::1]:5000', { host: 'fd00::1', port: 5000 }],
    ['reg.test:0', undefined],
    ['http://reg.test', undefined],
    ['a b', undefined],
  ])('reads %s', (text, endpoint) => expect(endpointOf(text, 443)).toEqual(endpoint));
});
