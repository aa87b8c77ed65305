/**
 * The installation's own registry as a child of the server, for one machine that has no other: the CNCF
 * distribution, found on PATH. It listens on a port of loopback that is chosen once, because the names of
 * images hold it, and lets in who has a token of ours.
 *
 * It lives no longer than the server: a shell beside it waits at a pipe whose other end the server holds, and
 * ends the registry when that is gone, however the server ended. When the registry ends by itself it is
 * started again, for as long as the server runs. Of two servers with one data folder one has the port; the
 * other tries again, and has it when the first is gone.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ProcessSettings } from '../../base/settings.ts';
import type { Running } from '../../kit/feature.ts';
import { startLoop } from '../../base/loop.ts';

const PROGRAMS = ['docker-registry', 'registry'];
const IS_REGISTRY = /github\.com\/(docker|distribution)\/distribution/;
const ASK_MS = 5_000;
/** Below those that outgoing connections get. */
const [PORT_MIN, PORTS] = [20_000, 10_000];
const PORT_TRIES = 20;
const LOOK_EVERY_MS = 500;
const RESTART_MS = 500;
const RESTART_MS_MAX = 10_000;
/** After so long it counts as started well. */
const WELL_MS = 5_000;

/** Descriptor 3 is the pipe. */
const GUARD = `"$1" serve "$2" </dev/null 3<&- & child=$!
(read -r line <&3; kill -TERM $child) 2>/dev/null & guard=$!
exec 3<&-
wait $child; code=$?
kill $guard 2>/dev/null
exit $code`;

export interface OwnRegistry {
  readonly program: string;
  /** It is part of the names of images: `127.0.0.1:<port>`. */
  readonly host: string;
  readonly folder: string;
}

export type Place = Pick<ProcessSettings, 'mode' | 'roles' | 'dataDir'> & { readonly localRegistry: string };

export const startsItsOwn = ({ localRegistry, mode, roles }: Omit<Place, 'dataDir'>): boolean =>
  localRegistry === 'auto' && mode === 'all-in-one' && roles.api && roles.worker;

export interface Access {
  /** Address of the endpoint that gives tokens, from this machine. */
  readonly realm: string;
  readonly service: string;
  readonly issuer: string;
  /** Path of `tokens.crt`. */
  readonly certificate: string;
  /** Signs what the registry gives a client to keep during an upload. */
  readonly uploads: string;
}

export type Tell = (word: string) => void;

/** Path of a program on PATH that is a registry; undefined: there is none. */
export async function findRegistryProgram(): Promise<string | undefined> {
  for (const name of PROGRAMS) {
    const path = (await answerOf('sh', ['-c', `command -v ${name}`])).trim();
    // Other programs are called `registry` too.
    if (path !== '' && IS_REGISTRY.test(await answerOf(path, ['--version']))) return path;
  }
  return undefined;
}

/** Reads the program's output. It is empty when the program cannot be started, or failed. */
async function answerOf(program: string, args: readonly string[]): Promise<string> {
  const answer = await promisify(execFile)(program, args, { timeout: ASK_MS }).catch(() => undefined);
  return answer?.stdout ?? '';
}

/**
 * Prepares the registry where `LOCAL_REGISTRY` is `auto`, with its port, which is chosen now if it was not
 * before. Undefined: none is to be started, or there is no program. Servers that share their work with others
 * start none: each would have its own, and an image of one could not be pulled by the offer of another.
 */
export async function prepareOwnRegistry(config: Place): Promise<OwnRegistry | undefined> {
  if (!startsItsOwn(config)) return undefined;
  const program = await findRegistryProgram();
  if (program === undefined) return undefined;
  const { dataDir } = config;
  const folder = join(dataDir, 'registry');
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return { program, folder, host: `127.0.0.1:${await portOf(join(folder, 'port'))}` };
}

async function portOf(file: string): Promise<number> {
  const read = (): number => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);
  if (read() > 0) return read();
  for (let tries = 0; tries < PORT_TRIES; tries += 1) {
    const port = PORT_MIN + Math.floor(Math.random() * PORTS);
    if (!(await isFree(port))) continue;
    try {
      writeFileSync(file, `${port}\n`, { flag: 'wx' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    // Another server with this data folder may have been first.
    return read();
  }
  throw new Error(`no port from ${PORT_MIN} on is free for the local registry; set LOCAL_REGISTRY`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((resolve) =>
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
  );
  await new Promise((resolve) => server.close(resolve));
  return free;
}

export function runOwnRegistry(own: OwnRegistry, access: Access, tell: Tell): Running {
  const config = join(own.folder, 'config.json');
  const log = join(own.folder, 'registry.log');
  writeFileSync(config, JSON.stringify(configOf(own, access)), { mode: 0o600 });
  let process: Process | undefined;
  let [startedMs, notBefore, waitMs, told] = [0, 0, RESTART_MS, ''];
  const look = (): void => {
    const nowMs = performance.now();
    if (process?.ended === false) {
      if (nowMs - startedMs > WELL_MS) [waitMs, told] = [RESTART_MS, ''];
      return;
    }
    if (nowMs < notBefore) return;
    if (process !== undefined) {
      const why = lastLines(log);
      if (why !== told) tell(`the local registry has ended and is started again: ${why}`);
      told = why;
    }
    [startedMs, notBefore, waitMs] = [nowMs, nowMs + waitMs, Math.min(2 * waitMs, RESTART_MS_MAX)];
    process = start(own.program, config, log);
  };
  const loop = startLoop({
    everyMs: LOOK_EVERY_MS,
    onError: (error) => tell(`the local registry cannot be started: ${String(error)}`),
    run: async () => await Promise.resolve().then(look),
  });
  return {
    stop: async () => {
      await loop.stop();
      await process?.end();
    },
  };
}

interface Process {
  ended: boolean;
  end(): Promise<void>;
}

/**
 * Starts the program in a group of its own, because Ctrl-C shall reach the server first. It gets no
 * environment of ours, which holds secrets, and from which it would take settings.
 */
function start(program: string, config: string, log: string): Process {
  const output = openSync(log, 'w', 0o600);
  const child = spawn('sh', ['-c', GUARD, 'svc-local-registry', program, config], {
    detached: true,
    stdio: ['ignore', output, output, 'pipe'],
    env: { PATH: '/usr/local/bin:/usr/bin:/bin', OTEL_TRACES_EXPORTER: 'none' },
  });
  closeSync(output);
  const pipe = child.stdio[3];
  pipe?.on('error', () => undefined);
  const gone = new Promise<void>((resolve) =>
    child.once('error', () => resolve()).once('exit', () => resolve()),
  );
  const process: Process = {
    ended: false,
    end: async () => {
      pipe?.destroy();
      await gone;
    },
  };
  void gone.then(() => {
    process.ended = true;
    pipe?.destroy();
  });
  child.unref();
  return process;
}

function configOf({ folder, host }: OwnRegistry, access: Access): object {
  const { realm, service, issuer, certificate, uploads } = access;
  return {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, 'data') } },
    http: { addr: host, relativeurls: true, secret: uploads },
    auth: { token: { realm, service, issuer, rootcertbundle: certificate } },
  };
}

function lastLines(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').slice(-2).join(' | ') : 'no log';
}
