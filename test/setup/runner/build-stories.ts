/**
 * Shared helpers for tests of whole builds: a repository, a registry, and inspection of the engine from
 * outside.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, onTestFailed } from 'vitest';
import { startGitServer, type GitServer, type GitServerOptions, type TreeEntry } from '../git-server.ts';
import { startRegistry, type Registry, type RegistryOptions } from '../registry.ts';
import type { BuildOffer } from '../../../runner/control-plane/wire.ts';
import { runCommand } from '../../../runner/executor/command.ts';
import { dropRules } from '../../../runner/network/kernel-filter.ts';
import { findStaticBusybox } from '../../../runner/executor/base-image.ts';
import {
  startProcess,
  untilReported,
  type Bundle,
  type DaemonProcess,
  type RunnerHome,
} from './daemon-process.ts';
import type { FakeControlPlane } from './fake-control-plane.ts';
import { OWN_IDS, type FakeRun } from './fake-runs.ts';
import { shareProofs } from './proofs.ts';
import { enrolledMachine, type Machine } from './stories.ts';
import { whenDone } from './when-done.ts';

export async function gitServer(options?: GitServerOptions): Promise<GitServer> {
  const server = await startGitServer(options);
  whenDone(async () => await server.stop());
  return server;
}

export async function registry(options?: RegistryOptions): Promise<Registry> {
  const server = await startRegistry(options);
  whenDone(async () => await server.stop());
  return server;
}

/** A tree that builds without a network: a static busybox on an empty image, which serves its root folder. */
export async function appTree(more: Record<string, TreeEntry> = {}): Promise<Record<string, TreeEntry>> {
  const busybox = await findStaticBusybox();
  if (busybox === undefined) throw new Error('busybox-static is needed: apt-get install busybox-static');
  return {
    busybox: { program: readFileSync(busybox) },
    'index.html': 'hello from the build\n',
    Dockerfile: DOCKERFILE,
    ...more,
  };
}

/** Starts a repository of one commit; `source` is its branch. */
export async function repository(tree?: Record<string, TreeEntry>, options?: GitServerOptions) {
  const git = await gitServer(options);
  const { url, commit } = git.commit('web', tree ?? (await appTree()));
  return { git, url, commit, source: { repository: url, branch: 'main' } };
}

/** Returns the image that a build pushes to. */
export const imageIn = ({ host }: Registry, tag: string) =>
  ({ host, namespace: 'acme', repository: 'web', tag, insecure: true }) as const;

/** An app whose container ends at once, or stays up and serves nothing. */
export const brokenApp = (...command: string[]) => ({
  Dockerfile: `FROM scratch\nCOPY busybox /bin/busybox\nCMD ${JSON.stringify(['/bin/busybox', ...command])}\n`,
});

export const DOCKERFILE = `FROM scratch
COPY busybox /bin/busybox
COPY index.html /www/index.html
STOPSIGNAL SIGKILL
CMD ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"]
`;

export function startBuilder(bundle: Bundle, home: RunnerHome, ...args: string[]): DaemonProcess {
  shareProofs(home.dataDir);
  return startProcess(bundle.main, [
    'run',
    '--data-dir',
    home.dataDir,
    '--executor',
    'podman',
    '--allow-insecure-git',
    ...args,
  ]);
}

/** Time in which a build ends, however busy the machine. */
export const BUILD_MS = 120_000;

export interface BuildMachine extends Machine {
  daemon: DaemonProcess;
}

export async function startBuildMachine(bundle: Bundle, ...args: string[]): Promise<BuildMachine> {
  const machine = await enrolledMachine();
  // It is as long as the server's: a second attempt at a build would take the layers of the first, and its
  // output would lack their steps'.
  machine.cp.intervals.leaseMs = 60_000;
  return { ...machine, daemon: startBuilder(bundle, machine.home, ...args) };
}

/** Has a test that fails show what has been said on the machine. */
export function shown<T extends Pick<BuildMachine, 'cp' | 'daemon'>>(machine: T): T {
  const { cp, daemon } = machine;
  onTestFailed(() =>
    console.error(daemon.output(), ...[...cp.runs.values()].map((run) => run.output.toString())),
  );
  return machine;
}

/** Has the build done; returns it when it has ended. */
export async function built(cp: FakeControlPlane, offer: Partial<BuildOffer>): Promise<FakeRun> {
  const build = cp.submitBuild(offer);
  await untilReported(cp, build.id, BUILD_MS);
  return build;
}

/** Returns the page of an app that a build has deployed. */
export async function pageOf({ report }: FakeRun): Promise<string> {
  return await (await fetch(`${report?.build?.address}/index.html`)).text();
}

export async function podman(...args: string[]): Promise<string> {
  const result = await runCommand(['podman', ...args], { timeoutMs: 30_000 });
  return result.stdout.trim();
}

interface Listed {
  Id: string;
  Names: string[];
  Labels: Record<string, string> | null;
  Status: string;
}

/**
 * Containers of this runner that are not the serving ones, and those in which an engine was building for this
 * test.
 */
export async function orphans(home: RunnerHome, runnerId: string): Promise<string[]> {
  const listed = await podman('ps', '--all', '--external', '--no-trunc', '--format=json');
  return (JSON.parse(listed) as Listed[]).flatMap(({ Id, Names, Labels, Status }) => {
    const line = `${Names.join(',')} ${Status}`;
    const labelled = [Labels?.['cp.runner'], Labels?.['svc.runner']].includes(runnerId);
    if (labelled) return /^svc-app-[^. ]+ Up/.test(line) ? [] : [line];
    const note = Status.startsWith('Storage') ? noteOf(Id) : '';
    return note.includes(home.dataDir) || note.includes(`-${OWN_IDS.build}`) ? [Id] : [];
  });
}

/** Reads buildah's record of one of its containers. */
function noteOf(id: string): string {
  const path = `/var/lib/containers/storage/overlay-containers/${id}/userdata/buildah.json`;
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Lists the remaining folders of clones and secrets. */
export function folders(home: RunnerHome): string[] {
  const builds = join(home.dataDir, 'builds');
  const secrets = ['/dev/shm', '/run']
    .flatMap((base) => namesIn(base).map((name) => join(base, name)))
    .filter((path) => path.includes('/svc-runner-'))
    .flatMap(namesIn)
    .filter((name) => name.includes(`-${OWN_IDS.build}`));
  return [...namesIn(builds), ...secrets];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // It does not exist, or has gone since it was listed.
  }
}

/**
 * Removes the images of a file's builds from the machine's engine, which reads its list of images at each
 * call.
 */
export function removeImagesAfterAll(): void {
  afterAll(async () => {
    // An image that a deploy fetched has a name of the runner and no label.
    const listed = await podman('images', '--format={{.Repository}}:{{.Tag}} {{.ID}} {{.Labels}}');
    const ids = listed
      .split('\n')
      .filter((line) =>
        [` svc.work:${OWN_IDS.build}`, `:${OWN_IDS.build}`].some((mark) => line.includes(mark)),
      )
      .map((line) => line.split(' ')[1] ?? '');
    if (ids.length > 0) await podman('rmi', '--force', ...new Set(ids));
  });
}

/** Removes the containers of an app that the test deploys. */
export function removeAppWhenDone(app: string): void {
  whenDone(async () => await removeApp(app));
}

/** Removes what is left of an app when its daemon is gone: containers, network and rules. */
export async function removeApp(app: string): Promise<void> {
  const current = `svc-app-${app}`;
  await podman('rm', '--force', '--ignore', '--time=0', current, `${current}.next`, `${current}.old`);
  const networks = (await podman('network', 'ls', '--format={{.Name}}')).split('\n');
  for (const name of networks.filter((line) => line.startsWith(`${current}-`))) {
    await podman('network', 'rm', name);
    await dropRules(name.slice(-12));
  }
}
