/**
 * A site around this machine, in a network namespace of its own that this machine has routes to: a cloud's
 * metadata, private neighbours, a name server, and one public address. Without the rules of apps, an app
 * reaches all of it; nothing leaves this machine.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { failureText, runCommand } from '../../../../runner/executor/command.ts';
import { probeNetwork, type Target } from './probe.ts';

/** A well-known public address. */
export const PUBLIC = '93.184.216.34';
export const METADATA = '169.254.169.254';
export const NAME_SERVER = '10.254.7.53';
/** The operator allows this one, by its address and by its name. */
export const ALLOWED = '10.254.7.9';
export const ALLOWED_BY_NAME = '10.254.7.10';
export const PRIVATE = ['10.254.7.7', '172.31.254.7', '192.168.254.7', '100.64.254.7', '198.18.254.7'];
const ADDRESSES = [PUBLIC, METADATA, NAME_SERVER, ALLOWED, ALLOWED_BY_NAME, ...PRIVATE];
/** This machine's address towards the site, and the site's. */
export const MACHINE = '198.18.250.1';
const ROUTER = '198.18.250.2';
const PORTS = [25, 53, 80, 443, 5432];
const UDP_PORTS = [53, 443];
const CALL_MS = 20_000;

export interface Site {
  /** Tries what somebody outside of this machine may try. */
  reached(targets: readonly Target[]): Promise<string[]>;
  close(): Promise<void>;
}

/** A reply by UDP comes from the address that was asked only if the socket is bound to it. */
const SERVER = `
const net = require('net'), dgram = require('dgram');
const [addresses, tcp, udp] = JSON.parse(process.argv[1]);
const serve = (socket) => socket.on('error', () => undefined).end('site');
const listening = tcp.map((port) => new Promise((done) => net.createServer(serve).listen(port, '0.0.0.0', done)));
for (const address of addresses) for (const port of udp) {
  const socket = dgram.createSocket('udp4');
  socket.on('message', (_text, from) => socket.send('site', from.port, from.address));
  listening.push(new Promise((done) => socket.bind(port, address, done)));
}
Promise.all(listening).then(() => console.log('ready'));`;

export async function makeSite(): Promise<Site> {
  const name = `svc-site-${process.pid}`;
  const [here, there] = [`svch${process.pid}`, `svcs${process.pid}`];
  const remove = async () => {
    // The pair of interfaces and all routes go with one end.
    await runCommand(['ip', 'link', 'del', here], { timeoutMs: CALL_MS });
    await runCommand(['ip', 'netns', 'del', name], { timeoutMs: CALL_MS });
  };
  // A process that was killed may have left a site that has the same addresses.
  const script = `for left in $(ip netns list | sed -n 's/^svc-site-\\([0-9]*\\).*/\\1/p'); do
  [ -d /proc/$left ] || { ip link del svch$left; ip netns del svc-site-$left; }
done
set -e
ip netns add ${name}
ip link add ${here} type veth peer name ${there} netns ${name}
ip addr add ${MACHINE}/30 dev ${here}; ip link set ${here} up
ip -n ${name} addr add ${ROUTER}/30 dev ${there}; ip -n ${name} link set ${there} up; ip -n ${name} link set lo up
ip -n ${name} route add default via ${MACHINE}
for address in ${ADDRESSES.join(' ')}; do
  ip -n ${name} addr add $address/32 dev lo; ip route add $address/32 via ${ROUTER} dev ${here}
done`;
  const made = await runCommand(['sh', '-c', script], { timeoutMs: CALL_MS });
  const namespace = `/run/netns/${name}`;
  let server: ChildProcess | undefined;
  try {
    if (made.code !== 0) throw new Error(`the site cannot be made: ${failureText(made)}`);
    const ports = JSON.stringify([ADDRESSES, PORTS, UDP_PORTS]);
    server = spawn('nsenter', [`--net=${namespace}`, '--', process.execPath, '-e', SERVER, ports], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (server.stdout !== null) await once(server.stdout, 'data');
  } catch (error) {
    server?.kill('SIGKILL');
    await remove();
    throw error;
  }
  return {
    reached: async (targets) => await probeNetwork(namespace, targets),
    async close() {
      server?.kill('SIGKILL');
      await remove();
    },
  };
}
