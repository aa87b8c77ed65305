/**
 * The executor for podman picks an OCI runtime that works here by running a container with all limits set.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { failureText, findProgram, runCommand } from './command.ts';
import { createEngineCgroups } from './engine-cgroup.ts';
import { ENGINE_TIMEOUTS } from './engine.ts';
import { EngineExecutor } from './engine-executor.ts';
import {
  chooseImage,
  prepareHooks,
  prepareLaunchFolder,
  prepareShell,
  probe,
  taskProcessesMax,
} from './engine-setup.ts';
import type { DetectOptions, Executor } from './executor.ts';
import { parseProfile, tightenProfile } from './seccomp.ts';
import { createTeamImages } from './team-images.ts';
import { adviceForPodman } from './user-range.ts';

const INFO_TIMEOUT_MS = 20_000;
const RUNTIMES = ['crun', 'runc', 'runsc', 'youki'];
const PROFILES = ['/etc/containers/seccomp.json', '/usr/share/containers/seccomp.json'];

interface PodmanInfo {
  host: {
    cgroupManager: string;
    cgroupVersion: string;
    ociRuntime: { name: string };
    security: { rootless: boolean; seccompEnabled: boolean; seccompProfilePath?: string };
  };
  version: { Version: string };
  store?: { graphRoot?: string };
}

/** Throws with the reason why it does not work here and what to install. */
export async function createPodmanExecutor(options: DetectOptions): Promise<Executor> {
  const program = findProgram('podman');
  if (program === undefined)
    throw new Error('not installed; install podman and crun or runc (Debian: apt-get install podman runc)');
  const info = await readInfo(program);
  if (!info.host.security.seccompEnabled) throw new Error('podman was built without seccomp');
  const seccompPath = await writeProfile(info, options.dataDir);
  const images = await chooseImage(program, options);
  const rootless = info.host.security.rootless;
  const cgroups =
    !rootless && info.host.cgroupManager === 'cgroupfs'
      ? await createEngineCgroups(options.runnerId)
      : undefined;
  const shellPath = await prepareShell(options.dataDir);
  const processesPerUser = await taskProcessesMax();
  const launchFolder = await prepareLaunchFolder(options.dataDir, options.runnerId);

  const hooksFolder = await prepareHooks(options.dataDir);
  const shared = {
    name: 'podman' as const,
    program,
    seccompPath,
    timeouts: ENGINE_TIMEOUTS,
    processesPerUser,
    ...(shellPath === undefined ? {} : { shellPath }),
    ...(cgroups === undefined ? {} : { cgroupParentOf: cgroups.parentOf }),
  };
  const failures: string[] = [];
  for (const runtime of candidates(info.host.ociRuntime.name)) {
    let failed = '';
    // A rootless engine is in a range of its user's ids as a whole already.
    for (const ownUsers of rootless ? [false] : [true, false]) {
      const sharedUsers = ownUsers || rootless ? undefined : await adviceForPodman(failed);
      const users = ownUsers ? 'users of its own' : rootless ? 'rootless' : 'users of the host';
      const create = (image: string) =>
        new EngineExecutor({
          engine: { ...shared, runtime, ...(ownUsers ? { ownUsers: { hooksFolder } } : {}) },
          cgroups,
          rootless,
          runnerId: options.runnerId,
          launchFolder,
          defaultImage: image,
          images: createTeamImages(options.dataDir),
          description: `podman ${info.version.Version}, runtime ${runtime}, ${users}, cgroup ${info.host.cgroupVersion}, tightened seccomp`,
          ...(info.store?.graphRoot === undefined ? {} : { storageFolder: info.store.graphRoot }),
          ...(sharedUsers === undefined ? {} : { sharedUsers }),
          log: options.log,
        });
      const failure = await probe(create(images.probe), options.runnerId);
      if (failure === undefined) return create(images.runs);
      failed = failure;
    }
    failures.push(`${runtime}: ${failed}`);
    options.log('container runtime does not work here', { engine: 'podman', runtime, reason: failed });
  }
  throw new Error(`no runtime works (${failures.join('; ')}); install crun or runc`);
}

async function readInfo(program: string): Promise<PodmanInfo> {
  const answer = await runCommand([program, 'info', '--format', 'json'], { timeoutMs: INFO_TIMEOUT_MS });
  if (answer.code !== 0) throw new Error(`podman info failed: ${failureText(answer)}`);
  return JSON.parse(answer.stdout) as PodmanInfo;
}

/** The engine's own choice comes first, then every other runtime that is installed. */
function candidates(preferred: string): string[] {
  return [...new Set([preferred, ...RUNTIMES])].filter((name) => findProgram(name) !== undefined);
}

async function writeProfile(info: PodmanInfo, dataDir: string): Promise<string> {
  const [source, text] = await firstReadable(
    [info.host.security.seccompProfilePath, ...PROFILES].filter((path) => path !== undefined && path !== ''),
  );
  const path = join(dataDir, 'seccomp-task.json');
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(path, JSON.stringify(tightenProfile(parseProfile(text, source)), null, 1));
  return path;
}

async function firstReadable(paths: readonly (string | undefined)[]): Promise<[path: string, text: string]> {
  for (const path of paths) {
    if (path === undefined) continue;
    try {
      return [path, await readFile(path, 'utf8')];
    } catch {
      continue; // It is not installed there.
    }
  }
  throw new Error(
    `no seccomp profile at ${PROFILES.join(' or ')}; install containers-common (golang-github-containers-common)`,
  );
}
