/** Tries to reach addresses from a network namespace, all at a time. */
import { failureText, runCommand } from '../../../../runner/executor/command.ts';

export interface Target {
  host: string;
  port: number;
  udp?: boolean;
}

/** A packet that is let through is answered within milliseconds. */
const WAIT_MS = 500;
const CALL_MS = 30_000;

const PROBE = `
const net = require('net'), dgram = require('dgram');
const tcp = ({ host, port }) => new Promise((done) => {
  const socket = net.connect({ host, port, timeout: ${WAIT_MS} });
  const end = (reached) => { socket.destroy(); done(reached); };
  socket.on('connect', () => end(true)).on('timeout', () => end(false)).on('error', () => end(false));
});
const udp = ({ host, port }) => new Promise((done) => {
  const socket = dgram.createSocket('udp4');
  const end = (reached) => { socket.close(); done(reached); };
  const timer = setTimeout(() => end(false), ${WAIT_MS});
  socket.on('message', () => { clearTimeout(timer); end(true); }).on('error', () => undefined);
  socket.send('x', port, host);
});
const targets = JSON.parse(process.argv[1]);
Promise.all(targets.map((one) => (one.udp ? udp(one) : tcp(one)))).then((found) => console.log(JSON.stringify(found)));`;

export function spelled({ host, port, udp }: Target): string {
  return `${udp === true ? 'udp' : 'tcp'} ${host} ${port}`;
}

/** Finds those that answer. */
export async function probeNetwork(namespace: string, targets: readonly Target[]): Promise<string[]> {
  const argv = [
    'nsenter',
    `--net=${namespace}`,
    '--',
    process.execPath,
    '-e',
    PROBE,
    JSON.stringify(targets),
  ];
  const probed = await runCommand(argv, { timeoutMs: CALL_MS });
  if (probed.code !== 0) throw new Error(`the network cannot be probed: ${failureText(probed)}`);
  const found = JSON.parse(probed.stdout) as boolean[];
  return targets.filter((_target, at) => found[at] === true).map(spelled);
}
