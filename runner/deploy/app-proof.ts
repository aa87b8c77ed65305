/**
 * Proves that apps are contained on this machine: a container with all that an app gets must be no user of
 * the machine (where there are users to give), have no IPv6, and not reach a server of the machine, which it
 * does reach while a rule allows it. The proof is repeated when the engine, the kernel, iptables or the
 * runner has changed.
 *
 * The engine prepares the container and starts nothing in it, so the image need hold no program but a shell,
 * which is not run.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { release } from 'node:os';
import { join } from 'node:path';
import { writeDurably } from '../disk/durable-file.ts';
import { failureText, runCommand, type CommandResult } from '../executor/command.ts';
import type { BuildEngine } from '../executor/executor.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { createAppNetworks, type AppNetworks } from '../network/app-network.ts';
import type { Endpoint } from '../network/egress.ts';
import type { Log } from '../platform/log.ts';
import { VERSION } from '../platform/version.ts';
import { SHELL_PATH } from '../executor/engine-argv.ts';
import { isolationArgs } from './app-args.ts';

const CALL_MS = 60_000;
/** A packet that is let through is answered within microseconds. */
const CONNECT_MS = 1_000;
/** First lines of a map of users: root of the machine, or the machine's users as they are. */
const OF_THE_MACHINE = /^\s*0\s+0\s/;

export interface ProofOptions {
  buildEngine: BuildEngine;
  runnerId: string;
  dataDir: string;
  log: Log;
}

/** Throws with what does not hold. */
export async function proveApps(options: ProofOptions): Promise<void> {
  const path = join(options.dataDir, 'app-containment.json');
  const of = await circumstances(options.buildEngine.engine);
  const known = await readFile(path, 'utf8').catch(() => undefined); // There is no proof yet.
  if (known === JSON.stringify({ of })) return;
  await prove(options);
  await writeDurably(path, JSON.stringify({ of }), 0o600);
}

async function circumstances(engine: Engine): Promise<string> {
  const printed = await Promise.all(
    [engine.program, 'iptables-restore'].map(
      async (program) => (await runCommand([program, '--version'], { timeoutMs: CALL_MS })).stdout,
    ),
  );
  const users = engine.ownUsers === undefined ? 'shared' : 'own';
  return [VERSION, release(), engine.program, engine.runtime ?? '', users, ...printed].join(' ');
}

async function prove(options: ProofOptions): Promise<void> {
  const { engine } = options.buildEngine;
  // Its own and always the same, so that apps keep their rules meanwhile, and a proof takes what one that was
  // killed has left.
  const name = `svc-proof-${options.runnerId}`;
  const own = { ...options, engine, runnerId: name, allowed: [] };
  const closed = createAppNetworks(own);
  try {
    await removeProof(engine, name);
    await runProof({ engine, name, image: options.buildEngine.stepImage, own, closed });
  } finally {
    await removeProof(engine, name);
    // What cannot be removed is taken by the next proof; the reason why this one failed counts.
    await closed.close().catch(() => undefined);
  }
}

async function removeProof(engine: Engine, name: string): Promise<void> {
  await runEngine(engine, CALL_MS, 'rm', '--force', '--ignore', '--time=0', name);
}

interface Proof {
  engine: Engine;
  name: string;
  image: string;
  own: Parameters<typeof createAppNetworks>[0];
  closed: AppNetworks;
}

async function runProof({ engine, name, image, own, closed }: Proof): Promise<void> {
  const must = async (...args: string[]): Promise<string> => {
    const result: CommandResult = await runEngine(engine, CALL_MS, ...args);
    if (result.code !== 0) throw new Error(`a container to prove it failed: ${failureText(result)}`);
    return result.stdout.trim();
  };
  const isolation = isolationArgs(engine, await closed.enter('proof'));
  const limits = ['--pids-limit=16', '--ulimit=nofile=64:64', '--ulimit=nproc=64:64', '--cap-drop=ALL'];
  const shell =
    engine.shellPath === undefined
      ? ['--entrypoint=/bin/sh']
      : [`--volume=${engine.shellPath}:${SHELL_PATH}:ro,z`, `--entrypoint=${SHELL_PATH}`];
  await must('create', `--name=${name}`, '--pull=never', ...limits, ...isolation, ...shell, image);
  await must('init', name);
  const format = '--format={{.State.Pid}} {{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}';
  const [pid = '', gateway = ''] = (await must('inspect', '--type=container', format, name)).split(' ');
  if (engine.ownUsers !== undefined && OF_THE_MACHINE.test(await readFile(`/proc/${pid}/uid_map`, 'utf8')))
    throw new Error('a container has the users of this machine');
  const interfaces = await readFile(`/proc/${pid}/net/if_inet6`, 'utf8').catch(() => ''); // A kernel without IPv6.
  if (interfaces.split('\n').some((line) => line !== '' && !line.endsWith(' lo')))
    throw new Error('a container has an address of IPv6');
  const server = createServer((socket) => socket.destroy()).listen(0, gateway);
  await once(server, 'listening');
  try {
    const endpoint = { host: gateway, port: (server.address() as AddressInfo).port };
    if (await reaches(pid, endpoint)) throw new Error('a container reaches a server of this machine');
    const open = createAppNetworks({ ...own, allowed: [endpoint] });
    await open.enter('proof');
    if (!(await reaches(pid, endpoint)))
      throw new Error('a container does not reach what --allow-egress allows');
  } finally {
    server.close();
  }
}

/** Connects from the container's network. */
async function reaches(pid: string, { host, port }: Endpoint): Promise<boolean> {
  const script = `const s=require('net').connect({host:'${host}',port:${port},timeout:${CONNECT_MS}});
s.on('connect',()=>process.exit(0));for(const e of ['error','timeout'])s.on(e,()=>process.exit(9))`;
  const argv = ['nsenter', `--net=/proc/${pid}/ns/net`, '--', process.execPath, '-e', script];
  const tried = await runCommand(argv, { timeoutMs: CALL_MS });
  if (tried.code !== 0 && tried.code !== 9)
    throw new Error(`its network cannot be looked at: ${failureText(tried)}`);
  return tried.code === 0;
}
