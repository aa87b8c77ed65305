/**
 * This file runs the image as a container of this machine's engine.
 *
 *   bring the image → try it as `next` on a free port → healthy → take the place of the earlier one → remove
 *   that
 *
 * The earlier container is not touched before the new one has proved itself, and goes when nobody is led to
 * it any more. Only where a fixed port of the host is wanted, which two cannot have at a time, it is stopped
 * for the moment in which the new one is started on that port, and started again when that fails.
 *
 */
import { createConnection } from 'node:net';
import { call, engineEnv, type BuildContext } from '../build/context.ts';
import { BuildFailed, MachineFailed } from '../build/failure.ts';
import { lastLines } from '../build/process.ts';
import { writeSecret } from '../build/workspace.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { engineArgv } from '../executor/engine.ts';
import { appLabel, runnerLabel } from '../network/engine-networks.ts';
import {
  appNames,
  containersOf,
  engineCall,
  environmentLabel,
  hostOf,
  must,
  otherHolder,
  promote,
  removeContainer,
  restore,
  STOP_SECONDS,
  workLabel,
  type AppNames,
} from './app-containers.ts';
import type { Deployed, Deployer, DeployRequest } from '../build/deployer.ts';
import { freePort } from './free-port.ts';
import { isolationArgs, limitArgs } from './app-args.ts';
import { ownedByAnother } from './app-owner.ts';
import { bringImage } from './bring-image.ts';

/**
 * A container whose port does not accept counts as healthy after it stayed up for so long: a worker has no
 * port.
 */
const STAY_UP_MS = 15_000;
const LOOK_MS = 200;
const CONNECT_MS = 1_000;
const LOG_LINES = 20;
/** Variables that the engine's own client reads. */
const OF_THE_CLIENT =
  /^(?:PATH|HOME|TMPDIR|USER|LD_.*|XDG_.*|DOCKER_.*|CONTAINERS?_.*|_CONTAINERS.*|STORAGE_.*|REGISTRY_.*|BUILDAH_.*|GODEBUG|SSL_CERT_.*|.*_PROXY|.*_proxy)$/;

export const containerDeployer: Deployer = {
  kind: 'container',
  async deploy(context, asked) {
    const names = appNames(asked.target.app);
    const { engine } = context.engine;
    const request = { ...asked, image: await bringImage(context, asked) };
    // An earlier deploy may have failed to clean up.
    const serves = await restore(engine, names, await ownContainers(context, request, names));
    try {
      return await replace(context, request, { names, serves });
    } catch (error) {
      // Another environment may have begun at the same time and come first: its containers must not be
      // touched.
      const there = await ownContainers(context, request, names);
      await context.writeLine(`the deploy failed, ${request.target.app} stays as it was`);
      await restore(engine, names, there);
      throw error;
    } finally {
      await request.network?.leave(request.target.app);
      request.databases?.leave(request.target.environment ?? '');
    }
  },
};

/** Finds the app's containers, and throws when they are of another environment. */
async function ownContainers(
  { engine: { engine } }: BuildContext,
  { target: { app, environment } }: DeployRequest,
  names: AppNames,
): Promise<Map<string, string>> {
  const there = await containersOf(engine, names);
  const holder = environment === undefined ? undefined : otherHolder(there, environment);
  if (environment !== undefined && holder !== undefined)
    throw new BuildFailed(ownedByAnother(app, environment, holder));
  return there;
}

async function replace(
  context: BuildContext,
  request: DeployRequest,
  { names, serves }: { names: AppNames; serves: boolean },
): Promise<Deployed> {
  const { engine } = context.engine;
  const { hostPort, app } = request.target;
  const occupied = hostPort !== 0 && serves;
  await run(context, request, { name: names.next, hostPort: occupied ? 0 : hostPort });
  let port = await prove(context, request, names.next);
  if (occupied) {
    await context.writeLine(`${app} is healthy on a port of its own, moving it to port ${hostPort}`);
    await removeContainer(engine, names.next);
    await must(engine, 'rename', names.current, names.old);
    await must(engine, 'stop', `--time=${STOP_SECONDS}`, names.old);
    await run(context, request, { name: names.next, hostPort });
    port = await prove(context, request, names.next);
  }
  context.control.check();
  const address = `http://${hostOf(request.bindAddress)}:${port}`;
  // The new container serves from here on, whatever fails.
  const left = await promote(engine, names, async () => await request.switched?.(address));
  if (left !== undefined)
    await context.writeLine(
      `${app} is replaced; its earlier container cannot be removed, the next deploy tries again: ${left}`,
    );
  return { address };
}

async function run(
  context: BuildContext,
  request: DeployRequest,
  options: { name: string; hostPort: number },
): Promise<void> {
  const { engine } = context.engine;
  const { app, containerPort, environment } = request.target;
  const database = await request.databases?.bring(environment ?? '', app, request.target.databases);
  const variables = await variablesOf(context, { ...request.env, ...database?.env });
  const network = await request.network?.enter(app);
  const mounts = (await request.mounts?.args(environment ?? '', request.target.mounts)) ?? [];
  const hostPort = options.hostPort === 0 ? await freePort(request.bindAddress) : options.hostPort;
  const published = `${hostOf(request.bindAddress)}:${hostPort}:${containerPort}`;
  const argv = engineArgv(
    engine,
    'run',
    '--detach',
    `--name=${options.name}`,
    `--label=${runnerLabel}=${context.runnerId}`,
    `--label=${appLabel}=${app}`,
    ...(environment === undefined ? [] : [`--label=${environmentLabel}=${environment}`]),
    `--label=${workLabel}=${context.plan.id}-${context.plan.epoch}`,
    `--publish=${published}`,
    '--security-opt=no-new-privileges',
    // The capability allows a port below 1024; an app that needs another user sets it in its image (USER).
    '--cap-drop=ALL',
    '--cap-add=NET_BIND_SERVICE',
    ...(await limitArgs(request.limits)),
    `--stop-timeout=${STOP_SECONDS}`,
    '--pull=never',
    ...isolationArgs(engine, network, mounts.length > 0),
    ...mounts,
    ...(database?.args ?? []),
    ...(engine.name === 'podman' ? ['--http-proxy=false', '--cgroups=enabled'] : []),
    ...variables.flags,
    request.image,
  );
  // The mark of the build is left out: the app outlives the build.
  const { SVC_BUILD: _mark, TMPDIR: _temporary, ...env } = { ...engineEnv(context), ...variables.env };
  const started = await call(context, { argv, env, cwd: '/' });
  if (started.code !== 0)
    throw new BuildFailed(`${app} cannot be started: ${lastLines(started, 3)}`, started.code ?? 125);
}

/**
 * Variables are passed by a file; a value with several lines, which the file cannot hold, by the environment
 * of the engine's client.
 */
async function variablesOf(
  context: BuildContext,
  env: Readonly<Record<string, string>>,
): Promise<{ flags: string[]; env: Record<string, string> }> {
  const entries = Object.entries(env);
  const plain = entries.filter(([, value]) => !/[\r\n]/.test(value));
  const several = entries.filter(([, value]) => /[\r\n]/.test(value));
  const refused = several.find(([name]) => OF_THE_CLIENT.test(name));
  if (refused !== undefined)
    throw new BuildFailed(
      `variable ${refused[0]} has several lines, which this name cannot have in a deployed container`,
    );
  const file = await writeSecret(context.workspace, {
    name: 'app.env',
    text: plain.map(([name, value]) => `${name}=${value}\n`).join(''),
  });
  return {
    flags: [`--env-file=${file}`, ...several.map(([name]) => `--env=${name}`)],
    env: Object.fromEntries(several),
  };
}

interface AppState {
  Running?: boolean;
  ExitCode?: number;
  OOMKilled?: boolean;
}

/** The keys are ports of the container, as in `8080/tcp`. */
type BoundPorts = Record<string, { HostPort?: string }[] | null> | null;

/** Resolves with the host's port when the container is healthy: its port accepts, or it has stayed up. */
async function prove(context: BuildContext, request: DeployRequest, name: string): Promise<string> {
  const { engine } = context.engine;
  const { containerPort, app } = request.target;
  const begunMs = monotonicMs();
  let accepted = 0;
  for (;;) {
    context.control.check();
    const inspected = await engineCall(
      engine,
      'inspect',
      '--type=container',
      '--format={{.RestartCount}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}} {{json .NetworkSettings.Ports}} {{json .State}}',
      name,
    );
    const [, restarts = '0', ip = '', ports = '{}', json = '{}'] =
      /^(\d+) (\S*) (\S+) (\{.*\})$/s.exec(inspected.stdout.trim()) ?? [];
    const state = JSON.parse(json) as AppState;
    if (state.Running !== true || restarts !== '0') {
      await writeLogs(context, name);
      const how =
        state.OOMKilled === true ? 'it was over its memory' : `exit code ${state.ExitCode ?? 'unknown'}`;
      throw new BuildFailed(`${app} does not stay up: ${how}`);
    }
    const bound = (JSON.parse(ports) as BoundPorts)?.[`${containerPort}/tcp`]?.[0]?.HostPort;
    if (bound === undefined) throw new MachineFailed(`the engine says no port for ${name}: ${ports}`);
    // An engine's proxy may accept before the app does, so the container's own address is tried where there
    // is one.
    const [host, port] = ip === '' ? [request.bindAddress, Number(bound)] : [ip, containerPort];
    accepted = (await accepts(host, port)) ? accepted + 1 : 0;
    // It must accept twice: a process that opens its port and dies has not come up.
    if (accepted >= 2) return bound;
    if (monotonicMs() - begunMs > STAY_UP_MS) {
      await context.writeLine(
        `${app} has stayed up for ${STAY_UP_MS / 1_000} s; its port ${containerPort} does not accept connections`,
      );
      return bound;
    }
    await context.control.race(pause(LOOK_MS, context.control.term));
  }
}

async function accepts(host: string, port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = createConnection({
      host: host === '0.0.0.0' ? '127.0.0.1' : host,
      port,
      timeout: CONNECT_MS,
    });
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket
      .once('connect', () => done(true))
      .once('error', () => done(false))
      .once('timeout', () => done(false));
  });
}

async function writeLogs(context: BuildContext, name: string): Promise<void> {
  const logs = await engineCall(context.engine.engine, 'logs', `--tail=${LOG_LINES}`, name);
  const text = `${logs.stdout}${logs.stderr}`;
  if (text.trim() !== '')
    await context.output('stderr', Buffer.from(text.endsWith('\n') ? text : `${text}\n`));
}
