/**
 * This file sets up the environment of cases.ts: runs on one executor, and a search of the host for leftovers
 * of a run.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findStaticBusybox } from '../../../../runner/executor/base-image.ts';
import { failureText, runCommand } from '../../../../runner/executor/command.ts';
import type {
  Executor,
  OnOutput,
  Outcome,
  Running,
  SandboxSpec,
} from '../../../../runner/executor/executor.ts';
import { makeSpec, shell, type Collected, type Finished, type SpecChanges } from '../executor-fixtures.ts';
import { listMounts } from '../../../../runner/executor/procfs.ts';
import { writeTar } from '@svc/proto/archive/tar.ts';

const AT_ONCE = 3;
const CONTAINERS_FILE = 'overlay-containers/containers.json';

export type Kind = 'podman' | 'namespaces';

export interface BytesRun extends Finished {
  /** stdout as it came. */
  bytes: Buffer;
}

export interface Bench {
  readonly kind: Kind;
  readonly executor: Executor;
  /** It is in the daemon's memory, in its key file and in a neighbour; no task may print it. */
  readonly secret: string;
  readonly keyFile: string;
  readonly keyName: string;
  spec(script: string, changes?: SpecChanges): SandboxSpec;
  run(script: string, changes?: SpecChanges): Promise<BytesRun>;
  start(script: string, changes?: SpecChanges): Promise<Collected>;
  stream(command: string[], changes: SpecChanges, onChunk: (chunk: Uint8Array) => void): Promise<Outcome>;
  /** Runs the scripts, a few at a time; returns the results in order. */
  runAll(scripts: readonly string[]): Promise<BytesRun[]>;
  /** A base image whose programs are setuid root. */
  setuidImage(): Promise<string>;
  /** Kills the runs that a failed case left. */
  endAll(): Promise<void>;
  /** Leftovers of the runs on the host; empty when all is well. */
  leftovers(): Promise<string[]>;
  close(): Promise<void>;
}

export async function createBench(options: {
  kind: Kind;
  executor: Executor;
  dataDir: string;
  runnerId: string;
}): Promise<Bench> {
  const { kind, executor, dataDir, runnerId } = options;
  const secret = randomBytes(12).toString('hex');
  const keyName = `key-${randomBytes(6).toString('hex')}.pem`;
  const keyFile = join(dataDir, keyName);
  await writeFile(keyFile, secret, { mode: 0o644 });
  process.env['SVC_ABUSE_SECRET'] = secret;
  const images: string[] = [];
  const { workIds, ...runs } = runsOn(executor, runnerId);
  return {
    kind,
    executor,
    secret,
    keyFile,
    keyName,
    ...runs,
    async setuidImage() {
      const image = await importSetuidImage(dataDir);
      images.push(image);
      return image;
    },
    leftovers: async () => await leftovers({ workIds, dataDir, storage: executor.storageFolder }),
    async close() {
      delete process.env['SVC_ABUSE_SECRET'];
      for (const image of images) await runCommand(['podman', 'rmi', image], { timeoutMs: 20_000 });
    },
  };
}

type Runs = Pick<Bench, 'spec' | 'run' | 'start' | 'stream' | 'runAll' | 'endAll'>;

function runsOn(executor: Executor, runnerId: string): Runs & { readonly workIds: readonly string[] } {
  const workIds: string[] = [];
  const started: Running[] = [];
  const spec = (script: string, changes: SpecChanges = {}) => {
    const made = makeSpec(shell(script), { runnerId, ...changes });
    workIds.push(made.workId);
    return made;
  };
  const launch = async (made: SandboxSpec, onOutput: OnOutput): Promise<Running> => {
    const running = await executor.start(made, onOutput);
    started.push(running);
    return running;
  };
  const run = async (script: string, changes?: SpecChanges): Promise<BytesRun> => {
    const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    const running = await launch(
      spec(script, changes),
      (stream, chunk) => void chunks[stream].push(Buffer.from(chunk)),
    );
    const outcome = await running.done;
    const bytes = Buffer.concat(chunks.stdout);
    return { ...outcome, stdout: bytes.toString(), stderr: Buffer.concat(chunks.stderr).toString(), bytes };
  };
  return {
    workIds,
    spec,
    run,
    async start(script, changes) {
      let text = '';
      const running = await launch(
        spec(script, changes),
        (_stream, chunk) => void (text += Buffer.from(chunk).toString()),
      );
      return { running, text: () => text };
    },
    async stream(command, changes, onChunk) {
      const running = await launch(spec('', { ...changes, command }), (_stream, chunk) => onChunk(chunk));
      return await running.done;
    },
    async runAll(scripts) {
      const done: BytesRun[] = [];
      for (let at = 0; at < scripts.length; at += AT_ONCE) {
        const batch = scripts.slice(at, at + AT_ONCE);
        done.push(...(await Promise.all(batch.map(async (script) => await run(script)))));
      }
      return done;
    },
    async endAll() {
      for (const running of started.splice(0)) {
        running.kill('cancelled', 0);
        await running.done;
      }
    },
  };
}

async function importSetuidImage(dataDir: string): Promise<string> {
  const busybox = await findStaticBusybox();
  if (busybox === undefined) throw new Error('no static busybox; install busybox-static');
  const path = join(dataDir, 'setuid.tar');
  const image = `localhost/svc-abuse:${process.pid}`;
  const folders = ['bin', 'dev', 'etc', 'proc', 'run', 'sys', 'tmp', 'workspace'];
  const links = ['sh', 'ls', 'id', 'grep'];
  await writeFile(
    path,
    writeTar([
      ...folders.map((name) => ({ type: 'directory' as const, path: name, mode: 0o755 })),
      { type: 'file', path: 'bin/busybox', mode: 0o6755, content: await readFile(busybox) },
      ...links.map((name) => ({ type: 'link' as const, path: `bin/${name}`, target: 'busybox' })),
    ]),
  );
  const made = await runCommand(['podman', 'import', path, image], { timeoutMs: 30_000 });
  if (made.code !== 0) throw new Error(`the image cannot be made: ${failureText(made)}`);
  return image;
}

async function leftovers(options: {
  workIds: readonly string[];
  dataDir: string;
  storage: string | undefined;
}): Promise<string[]> {
  // The names are looked at for the few texts that can hold one: there are thousands, at each look.
  const ours = (text: string) =>
    text.includes('cp-') && options.workIds.some((id) => text.includes(`cp-${id}-`));
  const groups = (await listMounts()).filter((mount) => mount.type.startsWith('cgroup'));
  const folders = [
    ...(await foldersBelow(groups.map((mount) => mount.point))),
    ...(await foldersBelow([join(options.dataDir, 'sandboxes'), '/dev/shm', '/run'], 2)),
  ];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(
    pids.flatMap((pid) => [`/proc/${pid}/cgroup`, `/proc/${pid}/cmdline`]).map(textOf),
  );
  const containers =
    options.storage === undefined ? '' : await textOf(join(options.storage, CONTAINERS_FILE));
  return [
    ...folders.filter(ours).map((path) => `folder ${path}`),
    ...texts.filter(ours).map((text) => `process of ${text.replaceAll('\0', ' ').slice(0, 200)}`),
    ...(await listMounts()).filter((mount) => ours(mount.point)).map((mount) => `mount ${mount.point}`),
    ...options.workIds.filter((id) => containers.includes(`"cp-${id}-`)).map((id) => `container cp-${id}`),
  ];
}

async function foldersBelow(roots: readonly string[], depth = 8): Promise<string[]> {
  if (depth === 0) return [];
  const lists = await Promise.all(
    roots.map(async (root) => {
      const entries = await readdir(root, { withFileTypes: true }).catch(() => []); // It does not exist, or has gone meanwhile.
      return entries.filter((entry) => entry.isDirectory()).map((entry) => join(root, entry.name));
    }),
  );
  const found = lists.flat();
  return found.length === 0 ? [] : [...found, ...(await foldersBelow(found, depth - 1))];
}

async function textOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => ''); // It has ended meanwhile.
}
