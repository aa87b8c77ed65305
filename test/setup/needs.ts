/**
 * Finds what the machine has. A test that needs a part that is not there is skipped loudly; under CI
 * (`SVC_REQUIRE_ALL=1`) a missing part is a failure, so that nothing is skipped unseen.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { findProgram } from '../../runner/executor/command.ts';
import { brokerScript } from './broker-nodes.ts';
import { findInstallation } from '../faults/postgres-node.ts';

export const DATABASE_URL = process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres';
export const AMQP_URL = process.env['AMQP_URL'] ?? 'amqp://guest:guest@127.0.0.1:5672';

const HINT = {
  postgres: 'set DATABASE_URL or start PostgreSQL on 127.0.0.1:5432',
  rabbitmq: 'set AMQP_URL or start RabbitMQ on 127.0.0.1:5672',
  'rabbitmq-server': 'apt-get install rabbitmq-server',
  podman: 'apt-get install podman runc catatonit busybox-static',
  registry: 'apt-get install docker-registry',
  git: 'apt-get install git',
  'git-lfs': 'apt-get install git-lfs',
  dnsmasq: 'apt-get install dnsmasq-base',
  pgbouncer: 'apt-get install pgbouncer',
  nginx: 'apt-get install nginx-light',
  pebble: 'apt-get install pebble',
  knot: 'apt-get install knot bind9-dnsutils',
  replication: 'apt-get install postgresql, whose programs start a primary and a standby of our own',
  systemd: 'apt-get install systemd',
  chromium: 'apt-get install chromium, or set CHROMIUM_PATH to a Chromium or Chrome',
  namespaces: 'needs util-linux (unshare, setpriv, prlimit) and the right to create namespaces',
};
export type Part = keyof typeof HINT;

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser that tests drive; undefined when there is none. */
export function chromiumPath(): string | undefined {
  const named = process.env['CHROMIUM_PATH'];
  return (named === undefined ? BROWSERS : [named]).find((path) => existsSync(path));
}

export async function answers(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return await new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 1_000 });
    const done = (ok: boolean) => {
      socket.destroy();
      resolve(ok);
    };
    socket
      .once('connect', () => done(true))
      .once('error', () => done(false))
      .once('timeout', () => done(false));
  });
}

function runs(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore', timeout: 10_000 });
    return true;
  } catch {
    return false; // Not installed or not allowed here: the caller says so.
  }
}

const IS_THERE: Record<Part, () => boolean | Promise<boolean>> = {
  postgres: () => answers(DATABASE_URL),
  rabbitmq: () => answers(AMQP_URL),
  'rabbitmq-server': () => brokerScript !== undefined,
  podman: () => runs('podman', '--version') && runs('busybox', 'true'),
  registry: () => runs('docker-registry', '--version'),
  git: () => runs('git', '--version'),
  'git-lfs': () => runs('git-lfs', '--version'),
  dnsmasq: () => runs('dnsmasq', '--version'),
  pgbouncer: () => runs('pgbouncer', '--version'),
  nginx: () => findProgram('nginx') !== undefined,
  // It says how it is called, and has no version to print.
  pebble: () => findProgram('pebble') !== undefined && findProgram('pebble-challtestsrv') !== undefined,
  knot: () => findProgram('knotd') !== undefined && findProgram('nsupdate') !== undefined,
  replication: () => findInstallation() !== undefined,
  systemd: () => runs('systemd-analyze', '--version'),
  chromium: () => chromiumPath() !== undefined,
  namespaces: () =>
    runs('unshare', '--mount', '--pid', '--fork', '--net', 'true') ||
    runs('unshare', '-Ur', '--mount', '--pid', '--fork', '--net', 'true'),
};

/**
 * True when the part is there. Prints what is missing and how to get it; throws instead under
 * SVC_REQUIRE_ALL=1.
 */
export async function has(part: Part): Promise<boolean> {
  if (await IS_THERE[part]()) return true;
  if (process.env['SVC_REQUIRE_ALL'] === '1') throw new Error(`${part} is required here: ${HINT[part]}`);
  console.warn(`SKIPPED: no ${part} on this machine; ${HINT[part]}`);
  return false;
}
