/**
 * The executor for docker, whose daemon chooses the runtime; its built-in seccomp filter already refuses
 * namespaces without CAP_SYS_ADMIN.
 */
import { failureText, findProgram, runCommand } from './command.ts';
import { ENGINE_TIMEOUTS } from './engine.ts';
import { EngineExecutor } from './engine-executor.ts';
import { chooseImage, prepareLaunchFolder, prepareShell, probe, taskProcessesMax } from './engine-setup.ts';
import type { DetectOptions, Executor } from './executor.ts';
import { createTeamImages } from './team-images.ts';
import { DOCKER_ADVICE } from './user-range.ts';

const INFO_TIMEOUT_MS = 10_000;

export interface DockerInfo {
  ServerVersion?: string;
  DefaultRuntime?: string;
  DockerRootDir?: string;
  CgroupVersion?: string;
  SecurityOptions?: string[] | null;
}

/** Throws with the reason why it does not work here and what to install. */
export async function createDockerExecutor(options: DetectOptions): Promise<Executor> {
  const program = findProgram('docker');
  if (program === undefined) throw new Error('not installed; install docker-ce or podman');
  const info = await readInfo(program);
  const images = await chooseImage(program, options);
  const shellPath = await prepareShell(options.dataDir);
  const launchFolder = await prepareLaunchFolder(options.dataDir, options.runnerId);
  const engine = {
    name: 'docker' as const,
    program,
    timeouts: ENGINE_TIMEOUTS,
    processesPerUser: await taskProcessesMax(),
    ...(shellPath === undefined ? {} : { shellPath }),
  };
  const description = `docker ${info.ServerVersion}, runtime ${info.DefaultRuntime}, cgroup v${info.CgroupVersion}, docker's own seccomp`;
  const has = (name: string) =>
    info.SecurityOptions?.some((option) => option.startsWith(`name=${name}`)) === true;
  const rootless = has('rootless');
  const create = (image: string) =>
    new EngineExecutor({
      engine,
      cgroups: undefined,
      rootless,
      runnerId: options.runnerId,
      launchFolder,
      defaultImage: image,
      images: createTeamImages(options.dataDir),
      description,
      ...(rootless || has('userns') ? {} : { sharedUsers: DOCKER_ADVICE }),
      ...(info.DockerRootDir === undefined ? {} : { storageFolder: info.DockerRootDir }),
      log: options.log,
    });
  const failure = await probe(create(images.probe), options.runnerId);
  if (failure !== undefined) throw new Error(`a probe container did not run: ${failure}`);
  return create(images.runs);
}

async function readInfo(program: string): Promise<DockerInfo> {
  const version = await runCommand([program, '--version'], { timeoutMs: INFO_TIMEOUT_MS });
  if (/podman/i.test(version.stdout))
    throw new Error('docker is only another name for podman here; use podman');
  const answer = await runCommand([program, 'info', '--format', '{{json .}}'], {
    timeoutMs: INFO_TIMEOUT_MS,
  });
  const info = parseDockerInfo(answer.stdout);
  if (answer.code !== 0 || info.ServerVersion === undefined || info.ServerVersion === '') {
    throw new Error(
      `the docker daemon does not answer (${failureText(answer)}); start it, or let this user use its socket`,
    );
  }
  if (info.SecurityOptions?.some((option) => option.startsWith('name=seccomp')) !== true) {
    throw new Error('the docker daemon runs without seccomp');
  }
  return info;
}

export function parseDockerInfo(text: string): DockerInfo {
  try {
    return JSON.parse(text) as DockerInfo;
  } catch {
    return {}; // The daemon did not answer with JSON, and stderr says why.
  }
}
