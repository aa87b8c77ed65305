/**
 * This file sets up the environment of cases.ts: builds of hostile Dockerfiles by two teams, contained as on
 * any runner, and the data that none of them may see or change.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { baseRootTar } from '../../../../runner/executor/base-image.ts';
import { failureText, findProgram, runCommand } from '../../../../runner/executor/command.ts';
import type { BuildEngine } from '../../../../runner/executor/executor.ts';
import { ENGINE_TIMEOUTS, engineArgv } from '../../../../runner/executor/engine.ts';
import { listMounts } from '../../../../runner/executor/procfs.ts';
import { writeTar, type TarEntry } from '@svc/proto/archive/tar.ts';
import { createBuilder, type Builder, type Isolation } from '../../../../runner/build/builder.ts';
import type { BuildContext, ContainedBuild } from '../../../../runner/build/context.ts';
import { cloneSource } from '../../../../runner/build/git.ts';
import type { BuildOffer } from '../../../../runner/control-plane/wire.ts';
import { createControl } from '../../../../runner/build/control.ts';
import type { Endpoint, HostNetwork } from '../../../../runner/network/egress.ts';
import { buildImage, localTag } from '../../../../runner/build/image.ts';
import { planOf } from '../../../../runner/build/plan.ts';
import { destroyWorkspace, makeWorkspace, workspaceOf } from '../../../../runner/build/workspace.ts';
import { dockerfileIn, planned } from '../build-context.ts';
import { collectedLog } from '../collected-log.ts';
import { listening } from '../listening.ts';
import { whenDone } from '../when-done.ts';

/** Time limit of one build. */
const BUILD_SECONDS = 150;
/** A well-known public address; in these tests only the bench's own server answers there. */
export const PUBLIC = '93.184.216.34';

export interface AbuseBuild {
  /** The reason of the failure; undefined when the build made an image. */
  failure: string | undefined;
  output: string;
  /** The output without the lines that repeat the Dockerfile. */
  said: string;
}

export interface CloneOf {
  submodules?: boolean;
  /** The server that answers at public addresses; the bench's own otherwise. */
  publicPort?: number;
  sshKey?: string;
}

export interface BuildOf {
  team?: string;
  /** Files of the clone. */
  files?: Record<string, string | Buffer>;
  memoryMb?: number;
  secrets?: Record<string, string>;
  variables?: Record<string, string>;
  /** The image is kept under this name, for another build of the case. */
  keep?: string;
}

export interface Bench {
  /**
   * It is in the runner's key file, in another team's image, cache and secrets, and on servers that are not
   * public.
   */
  readonly secret: string;
  readonly keyFile: string;
  readonly engine: BuildEngine;
  /** A server beyond loopback; each request is counted. */
  readonly hostPort: number;
  requests(): number;
  /** Outgoing connections by address. */
  readonly called: Endpoint[];
  /** Addresses of names, one answer after the other; the last stays. */
  readonly names: Map<string, string[][]>;
  build(dockerfile: string, of?: BuildOf): Promise<AbuseBuild>;
  /** Clones a repository as a build does; plain http is taken of every host. */
  clone(repository: string, of?: CloneOf): Promise<AbuseBuild>;
  /** An image of the machine's own engine, with the secret in it and a label of builds or none. */
  imageOfMachine(name: string, label: string | undefined): Promise<string>;
  /** Id of the image that was kept under the name. */
  idOf(team: string, keep: string): Promise<string>;
  /** Leftovers of the builds on the machine; empty when all is well. */
  leftovers(): Promise<string[]>;
}

/** A stage with a shell that lists what a step sees behind the flaw of CVE-2024-1753. */
export function escape(script: string): string {
  return [
    'FROM scratch AS b',
    'ADD link.tar /',
    'FROM scratch',
    'ADD root.tar /',
    `RUN --mount=type=bind,from=b,source=/t,target=/mnt,rw ${JSON.stringify(['/bin/sh', '-c', script])}`,
    '',
  ].join('\n');
}

/** Makes steps in one image with a shell; each is a line of sh. */
export function steps(...scripts: string[]): string {
  return [
    'FROM scratch',
    'ADD root.tar /',
    ...scripts.map((script) => `RUN ${JSON.stringify(['/bin/sh', '-c', script])}`),
    '',
  ].join('\n');
}

export function linkTar(...links: [path: string, target: string][]): Buffer {
  return writeTar(links.map(([path, target]): TarEntry => ({ type: 'link', path, target })));
}

export async function createBench(dataDir: string, runtime: string | undefined): Promise<Bench> {
  const program = findProgram('podman') ?? 'podman';
  const engine: BuildEngine = {
    engine: {
      name: 'podman',
      program,
      ...(runtime === undefined ? {} : { runtime }),
      timeouts: ENGINE_TIMEOUTS,
      processesPerUser: 1_024,
    },
    rootless: process.geteuid?.() !== 0,
    privateFolder: join(dataDir, 'private'),
    stepImage: 'localhost/none:1',
  };
  const secret = `secret-${randomBytes(12).toString('hex')}`;
  const keyFile = join(dataDir, `key-${randomBytes(6).toString('hex')}.pem`);
  writeFileSync(keyFile, secret, { mode: 0o644 });
  const builder = createBuilder({
    buildEngine: engine,
    dataDir,
    allowUncontained: false,
    allowedEgress: [],
    allowedRegistries: [],
    maxStoreMb: 100_000,
    minFreeMb: 1,
    log: collectedLog(),
    now: () => new Date(),
  });
  const isolation = await builder.isolation();
  if (!isolation.contained) throw new Error(`builds are not contained here: ${isolation.why}`);
  let requests = 0;
  const hostPort = await listening(
    createServer((_request, response) => {
      requests += 1;
      response.end(secret);
    }),
  );
  const parts: Parts = {
    dataDir,
    engine,
    builder,
    isolation,
    secret,
    ...hostNetwork(hostPort),
  };
  const mounts = new Set(await mountsOf(dataDir));
  return {
    secret,
    keyFile,
    engine,
    hostPort,
    requests: () => requests,
    called: parts.called,
    names: parts.names,
    build: async (dockerfile, of = {}) => await build(parts, dockerfile, of),
    clone: async (repository, of = {}) => await clone(parts, repository, of),
    imageOfMachine: async (name, label) => await imageOfMachine(parts, name, label),
    idOf: async (team, keep) => await idOf(parts, team, keep),
    async leftovers() {
      const folders = readdirSync(join(dataDir, 'builds')).map((name) => `folder ${name}`);
      const left = (await mountsOf(dataDir)).filter((mount) => !mounts.has(mount));
      return [...folders, ...left.map((mount) => `mount ${mount}`)];
    },
  };
}

/** Finds the mounts at or of the folder; other tests mount and unmount their own meanwhile. */
async function mountsOf(folder: string): Promise<string[]> {
  const mounts = await listMounts();
  return mounts.map(({ root, point }) => `${root} at ${point}`).filter((mount) => mount.includes(folder));
}

interface Parts {
  dataDir: string;
  engine: BuildEngine;
  builder: Builder;
  isolation: Isolation & { contained: true };
  secret: string;
  called: Endpoint[];
  names: Map<string, string[][]>;
  hostNetwork: HostNetwork;
}

/** Resolves names as the bench has them; every connection ends at the bench's own server. */
function hostNetwork(port: number): Pick<Parts, 'called' | 'names' | 'hostNetwork'> {
  const called: Endpoint[] = [];
  const names = new Map<string, string[][]>();
  return {
    called,
    names,
    hostNetwork: {
      async resolve(name) {
        const answers = names.get(name) ?? [[]];
        return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      },
      dial(endpoint) {
        called.push(endpoint);
        return connect({ host: '127.0.0.1', port, allowHalfOpen: true });
      },
    },
  };
}

let sequence = 0;

interface Opened {
  context: BuildContext & { contained: ContainedBuild };
  /** Ends the build. */
  close(end: {
    failure: string | undefined;
    /** The image stays. */
    kept?: boolean;
    /** The engine left nothing. */
    well?: boolean;
  }): Promise<AbuseBuild>;
}

async function open(parts: Parts, offer: Partial<BuildOffer>): Promise<Opened> {
  const { dataDir, engine, builder, isolation } = parts;
  sequence += 1;
  const plan = planOf(
    {
      id: `bld_${process.pid}_${sequence}`,
      epoch: 1,
      teamId: 'team_mallory',
      shared: true,
      source: { repository: 'https://git.example/x', branch: 'main' },
      ...offer,
    },
    { allowInsecureGit: false },
  );
  const host = { dataDir, runnerId: 'rnr_abuse', engine };
  const workspace = workspaceOf(host, plan.id, plan.epoch);
  await makeWorkspace(workspace);
  const output: string[] = [];
  const control = createControl(BUILD_SECONDS * 1_000);
  const contained = { ...(await builder.open(isolation, plan.team)), hostNetwork: parts.hostNetwork };
  const context = {
    plan,
    workspace,
    control,
    engine,
    contained,
    runnerId: host.runnerId,
    env: { PATH: process.env['PATH'] },
    caFile: undefined,
    writeLine: async (line: string) => void output.push(`==> ${line}\n`),
    output: async (_stream: string, chunk: Uint8Array) => void output.push(Buffer.from(chunk).toString()),
  };
  return {
    context,
    async close({ failure, kept = false, well = failure === undefined }) {
      control.end();
      await destroyWorkspace(undefined, workspace);
      const tag = kept ? 'localhost/none:1' : localTag(plan.id, plan.epoch);
      await builder.close(contained, { tag, name: workspace.name, well });
      const text = output.join('');
      const said = text.split('\n').filter((line) => !/^(?:\[\d+\/\d+\] )?STEP \d/.test(line));
      return { failure, output: text, said: said.join('\n') };
    },
  };
}

async function failureOf(work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
}

async function build(parts: Parts, dockerfile: string, of: BuildOf): Promise<AbuseBuild> {
  const { context, close } = await open(parts, {
    ...(of.keep === undefined ? {} : { id: of.keep }),
    ...(of.team === undefined ? {} : { teamId: of.team }),
    secrets: of.secrets ?? {},
    variables: of.variables ?? {},
    limits: { timeoutSeconds: BUILD_SECONDS, memoryMb: of.memoryMb ?? 256, cpus: 2, outputBytes: 1e6 },
  });
  const { clone: folder } = context.workspace;
  const files = {
    'root.tar': await baseRootTar(dockerfile),
    'link.tar': linkTar(['t', '/']),
    Dockerfile: dockerfile,
    ...of.files,
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  const made = buildImage(context, dockerfileIn(folder), localTag(context.plan.id, context.plan.epoch));
  return await close({ failure: await failureOf(made), kept: of.keep !== undefined });
}

async function clone(parts: Parts, repository: string, of: CloneOf): Promise<AbuseBuild> {
  const { submodules = false, sshKey, publicPort } = of;
  const http = repository.startsWith('http://');
  const source = {
    repository: http ? 'https://git.example/x' : repository,
    branch: 'main',
    submodules,
    ...(sshKey === undefined ? {} : { sshKey }),
  };
  const { context, close } = await open(parts, { source });
  if (publicPort !== undefined)
    context.contained.hostNetwork = {
      ...parts.hostNetwork,
      dial(endpoint) {
        parts.called.push(endpoint);
        return connect({ host: '127.0.0.1', port: publicPort, allowHalfOpen: true });
      },
    };
  const cloned = cloneSource(context, {
    ...planned(context.plan, 'source'),
    ...(http ? { url: repository, transport: 'http' as const, host: new URL(repository).host } : {}),
  });
  return await close({ failure: await failureOf(cloned), well: true });
}

async function imageOfMachine(parts: Parts, name: string, label: string | undefined): Promise<string> {
  const archive = join(parts.dataDir, 'image-of-machine.tar');
  const file: TarEntry = { type: 'file', path: 'secret', mode: 0o644, content: Buffer.from(parts.secret) };
  writeFileSync(archive, writeTar([file]));
  const change = label === undefined ? [] : [`--change=LABEL ${label}`];
  const call = async (...args: string[]) =>
    await runCommand(engineArgv(parts.engine.engine, ...args), { timeoutMs: 60_000 });
  const made = await call('import', ...change, archive, name);
  rmSync(archive);
  if (made.code !== 0) throw new Error(failureText(made));
  whenDone(async () => await call('rmi', '--force', name));
  return made.stdout.trim().split('\n').at(-1) ?? '';
}

/** Reads the engine's own records, in which ids are the names of folders. */
async function idOf(parts: Parts, team: string, keep: string): Promise<string> {
  const folder = join(parts.dataDir, 'stores', team, 'graph', 'overlay-images');
  const found = readdirSync(folder).find((name) => statSync(join(folder, name)).isDirectory());
  if (found === undefined) throw new Error(`${keep} has no image in ${folder}`);
  return found;
}
