/**
 * This file sets up the environment of cases.ts: apps of two teams on one machine of many teams, one app of a
 * machine's own team with an open network, and what is around them.
 */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { baseRootTar } from '../../../../runner/executor/base-image.ts';
import { runCommand, failureText } from '../../../../runner/executor/command.ts';
import { detectExecutor } from '../../../../runner/executor/detect.ts';
import { engineArgv } from '../../../../runner/executor/engine.ts';
import { changeNames } from '../../../../runner/executor/image-names.ts';
import type { BuildEngine } from '../../../../runner/executor/executor.ts';
import type { BuildContext } from '../../../../runner/build/context.ts';
import { createControl } from '../../../../runner/build/control.ts';
import type { Deployers } from '../../../../runner/build/deployer.ts';
import { localTag } from '../../../../runner/build/image.ts';
import { planOf } from '../../../../runner/build/plan.ts';
import { destroyWorkspace, makeWorkspace, workspaceOf } from '../../../../runner/build/workspace.ts';
import { removeContainer } from '../../../../runner/deploy/app-containers.ts';
import { createDeployers } from '../../../../runner/deploy/deployers.ts';
import { createKeeper, type Keeper } from '../../../../runner/deploy/app-keeper.ts';
import { planned } from '../build-context.ts';
import { collectedLog } from '../collected-log.ts';
import { probeNetwork, type Target } from './probe.ts';
import { ALLOWED, ALLOWED_BY_NAME, makeSite, NAME_SERVER, type Site } from './site.ts';

const DEPLOY_SECONDS = 60;
const CALL_MS = 60_000;
export const APP_PORT = 8080;
export const LIMITS = { memoryMb: 64, cpus: 1, pids: 64 };
const APPLETS = 'cat dd head httpd mount sleep tail unshare yes';

export interface App {
  name: string;
  container: string;
  /** The app's address in its own network, and this machine's address there. */
  address: string;
  gateway: string;
  /** The port is published on this machine, at each of its addresses. */
  hostPort: number;
}

export interface Bench {
  readonly site: Site;
  /** The app of one team. */
  readonly own: App;
  readonly sibling: App;
  /** The app of another team. */
  readonly foreign: App;
  /** An app on a machine of its own team, with `--app-network open`, which shows what the rules hold off. */
  readonly open: App;
  /** A server on every address of this machine. */
  readonly hostPort: number;
  hostAddresses(): string[];
  /** The deployers of the runner that contains. */
  readonly deployers: Deployers;
  readonly keeper: Keeper;
  /** Runs a line of sh in the app; returns its output. */
  run(app: App, script: string): Promise<string>;
  /** Returns the targets that answer in the app's network. */
  reached(app: App, targets: readonly Target[]): Promise<string[]>;
  /** Tells whether an address answers ICMP to a process with all capabilities in the app's network. */
  pings(app: App, address: string): Promise<boolean>;
  podman(...args: string[]): Promise<string>;
  state(app: App): Promise<string>;
  /** Takes the rules out, as a reload of a firewall does. */
  flushRules(): Promise<void>;
  rules(): Promise<string>;
  close(): Promise<void>;
}

interface Parts {
  dataDir: string;
  engine: BuildEngine;
  image: string;
  /** Ends the names of this process's apps. */
  mark: string;
}

interface AppOf {
  name: string;
  environment: string;
  shared: boolean;
}

export async function createBench(dataDir: string): Promise<Bench> {
  const executor = await detectExecutor({
    wanted: 'podman',
    dataDir,
    runnerId: 'rnr_abuse',
    log: () => undefined,
  });
  const engine = executor.buildEngine;
  if (engine === undefined) throw new Error('podman builds nothing here');
  const mark = randomBytes(3).toString('hex');
  const parts: Parts = { dataDir, engine, mark, image: await makeImage(engine, dataDir, mark) };
  const site = await makeSite();
  const server = createServer((_request, response) => response.end('host'));
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  const runnerId = `rnr_abuse_${mark}`;
  writeFileSync(join(dataDir, 'resolv.conf'), `nameserver 127.0.0.53\nnameserver ${NAME_SERVER}\n`);
  const create = (appNetwork: 'contained' | 'open', id: string) =>
    createDeployers({
      executor,
      settings: {
        allowEgress: [ALLOWED, 'db.site.test'].map((host) => ({ host, port: 5432 })),
        allowUncontainedApps: false,
        allowMount: [],
        appNetwork,
      },
      dataDir,
      runnerId: id,
      log: collectedLog(),
      site: { resolverFiles: [join(dataDir, 'resolv.conf')], resolve: async () => [ALLOWED_BY_NAME] },
    });
  const deployers = create('contained', runnerId);
  const deploy = async (of: AppOf, by = deployers) => await deployApp(parts, by, of);
  const podman = async (...args: string[]) => await call(engine, ...args);
  const made: App[] = [];
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await site.close();
    const removed = await Promise.allSettled(
      made.map(async ({ container }) => await removeContainer(engine.engine, container)),
    );
    await deployers.restore();
    await podman('rmi', '--force', parts.image);
    for (const one of removed) if (one.status === 'rejected') throw one.reason;
  };
  const own = create('open', `${runnerId}_own`);
  const deployed = await Promise.allSettled([
    deploy({ name: 'own', environment: 'env_a1', shared: true }),
    deploy({ name: 'sibling', environment: 'env_a2', shared: true }),
    deploy({ name: 'foreign', environment: 'env_b', shared: true }),
    deploy({ name: 'open', environment: 'env_c', shared: false }, own),
  ]);
  for (const one of deployed) if (one.status === 'fulfilled') made.push(one.value);
  const failed = deployed.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  const [first, sibling, foreign, open] = made as [App, App, App, App];
  // Other runners have rules on this machine, too.
  const format = '--format={{range $name, $_ := .NetworkSettings.Networks}}{{$name}}{{end}}';
  const chain = `SVC-${(await podman('inspect', format, first.container)).slice(-12)}`;
  const rules = async () => await rulesOf(chain);
  const pidOf = async ({ container }: App) => await podman('inspect', '--format={{.State.Pid}}', container);
  return {
    site,
    own: first,
    sibling,
    foreign,
    open,
    hostPort: (server.address() as AddressInfo).port,
    hostAddresses: () =>
      Object.values(networkInterfaces())
        .flatMap((entries) => entries ?? [])
        .flatMap(({ family, address, internal }) => (family === 'IPv4' && !internal ? [address] : [])),
    deployers,
    keeper: createKeeper({ engine: engine.engine, runnerId, isBusy: () => false, log: collectedLog() }),
    async run({ container }, script) {
      const argv = engineArgv(engine.engine, 'exec', container, '/bin/sh', '-c', `{ ${script}; } 2>&1`);
      return (await runCommand(argv, { timeoutMs: CALL_MS })).stdout;
    },
    reached: async (app, targets) => await probeNetwork(`/proc/${await pidOf(app)}/ns/net`, targets),
    async pings(app, address) {
      const enter = ['nsenter', `--net=/proc/${await pidOf(app)}/ns/net`, '--'];
      const argv = [...enter, 'busybox', 'ping', '-c', '1', '-W', '1', address];
      return (await runCommand(argv, { timeoutMs: CALL_MS })).code === 0;
    },
    podman,
    state: async ({ container }) => await podman('inspect', '--format={{.State.Status}}', container),
    async flushRules() {
      await runCommand(['iptables', '-t', 'mangle', '-D', 'PREROUTING', '-j', chain], { timeoutMs: CALL_MS });
      await runCommand(['iptables', '-t', 'mangle', '-F', chain], { timeoutMs: CALL_MS });
    },
    rules,
    close,
  };
}

/** Returns the rules of a runner's chains, and those that lead there. */
async function rulesOf(chain: string): Promise<string> {
  const saved = await runCommand(['iptables-save', '-t', 'mangle'], { timeoutMs: CALL_MS });
  const rules = saved.stdout.split('\n').filter((line) => line.startsWith('-A '));
  return rules.filter((rule) => rule.includes(chain)).join('\n');
}

async function call({ engine }: BuildEngine, ...args: string[]): Promise<string> {
  const result = await runCommand(engineArgv(engine, ...args), { timeoutMs: CALL_MS });
  if (result.code !== 0) throw new Error(`podman ${args[0]} failed: ${failureText(result)}`);
  return result.stdout.trim();
}

async function makeImage(engine: BuildEngine, dataDir: string, mark: string): Promise<string> {
  const archive = join(dataDir, 'app.tar');
  writeFileSync(archive, await baseRootTar(APPLETS));
  const script = `echo up >/dev/stdout; exec httpd -f -p ${APP_PORT} -h /etc`;
  const serve = `CMD ${JSON.stringify(['/bin/sh', '-c', script])}`;
  return await call(engine, 'import', `--change=${serve}`, archive, `localhost/svc-app-abuse:${mark}`);
}

/** Deploys as a build does in its last phase. */
async function deployApp(parts: Parts, deployers: Deployers, of: AppOf): Promise<App> {
  const { dataDir, engine, image, mark } = parts;
  const name = `${of.name}-${mark}`;
  const plan = planOf(
    {
      id: `bld_${name}`,
      epoch: 1,
      shared: of.shared,
      deployImage: `reg.example/app@sha256:${'a'.repeat(64)}`,
      deploy: { kind: 'container', app: name, containerPort: APP_PORT, environmentId: of.environment },
    },
    { allowInsecureGit: false },
  );
  const host = { dataDir, runnerId: `rnr_abuse_${mark}${of.shared ? '' : '_own'}`, engine };
  const workspace = workspaceOf(host, plan.id, plan.epoch);
  await makeWorkspace(workspace);
  const control = createControl(DEPLOY_SECONDS * 1_000);
  const output: string[] = [];
  const context: BuildContext = {
    plan,
    workspace,
    control,
    engine,
    contained: undefined,
    runnerId: host.runnerId,
    env: { PATH: process.env['PATH'] },
    caFile: undefined,
    writeLine: async (line) => void output.push(line),
    output: async (_stream, chunk) => void output.push(Buffer.from(chunk).toString()),
  };
  const target = planned(plan, 'deploy');
  try {
    const { network, warnings } = await deployers.admit(target, plan.shared);
    if (warnings.length > 0) throw new Error(warnings.join('; '));
    // The name is that of a build which was not published.
    const built = localTag(plan.id, plan.epoch);
    const tagged = await changeNames(engine.engine, CALL_MS, 'tag', image, built);
    if (tagged.code !== 0) throw new Error(failureText(tagged));
    const request = { target, image: built, env: {}, bindAddress: '0.0.0.0', limits: LIMITS, network };
    const { address = '' } = await deployers.of('container').deploy(context, request);
    const container = `svc-app-${name}`;
    const format = '--format={{range .NetworkSettings.Networks}}{{.IPAddress}} {{.Gateway}}{{end}}';
    const [own = '', gateway = ''] = (await call(engine, 'inspect', format, container)).split(' ');
    return { name, container, address: own, gateway, hostPort: Number(new URL(address).port) };
  } catch (error) {
    throw new Error(`${name} is not deployed: ${String(error)}; ${output.join('; ')}`, { cause: error });
  } finally {
    control.end();
    await destroyWorkspace(undefined, workspace);
  }
}
