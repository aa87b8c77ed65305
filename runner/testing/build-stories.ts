/** What the stories of builds have in common: a repository, a registry, and looks at the engine from outside. */
import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startGitServer, type GitServer, type TreeEntry } from '../../test/setup/git-server.ts';
import { startRegistry, type Registry, type RegistryOptions } from '../../test/setup/registry.ts';
import { runCommand } from '../executor/command.ts';
import { findStaticBusybox } from '../executor/base-image.ts';
import { startProcess, type Bundle, type DaemonProcess, type RunnerHome } from './daemon-process.ts';

export async function gitServer(options?: Parameters<typeof startGitServer>[0]): Promise<GitServer> {
  const server = await startGitServer(options);
  onTestFinished(async () => await server.stop());
  return server;
}

export async function registry(options?: RegistryOptions): Promise<Registry> {
  const server = await startRegistry(options);
  onTestFinished(async () => await server.stop());
  return server;
}

/** A tree that builds without a network: a static busybox on nothing, which serves its root folder. */
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

export const DOCKERFILE = `FROM scratch
COPY busybox /bin/busybox
COPY index.html /www/index.html
CMD ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/www"]
`;

export function startBuilder(bundle: Bundle, home: RunnerHome, ...args: string[]): DaemonProcess {
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

export async function podman(...args: string[]): Promise<string> {
  const result = await runCommand(['podman', ...args], { timeoutMs: 30_000 });
  return result.stdout.trim();
}

/** Containers of this runner, build containers included, that are not the serving ones. */
export async function orphans(home: RunnerHome, runnerId: string): Promise<string[]> {
  const labelled = await Promise.all([
    podman('ps', '--all', `--filter=label=cp.runner=${runnerId}`, '--format={{.Names}} {{.Status}}'),
    podman('ps', '--all', `--filter=label=svc.runner=${runnerId}`, '--format={{.Names}} {{.Status}}'),
  ]);
  const external = (await podman('ps', '--all', '--external', '--no-trunc', '--format={{.ID}} {{.Status}}'))
    .split('\n')
    .filter((line) => line.endsWith('Storage'))
    .filter((line) => {
      const path = `/var/lib/containers/storage/overlay-containers/${line.split(' ')[0]}/userdata/buildah.json`;
      return (
        existsSync(path) &&
        readFileSync(path, 'utf8').includes('svc-build-') &&
        readFileSync(path, 'utf8').includes(String(process.pid))
      );
    });
  return [...labelled.join('\n').split('\n'), ...external].filter(
    (line) => line !== '' && !/^svc-app-[^. ]+ Up/.test(line) && folders(home).length >= 0,
  );
}

/** What is left of clones and secrets. */
export function folders(home: RunnerHome): string[] {
  const builds = join(home.dataDir, 'builds');
  const secrets = readdirSync('/dev/shm', { recursive: true, encoding: 'utf8' })
    .concat(
      existsSync('/run')
        ? readdirSync('/run')
            .filter((name) => name.startsWith('svc-runner-'))
            .flatMap((name) => readdirSync(join('/run', name)))
        : [],
    )
    .filter((name) => name.includes('svc-build-') && name.includes(String(process.pid)));
  return [...(existsSync(builds) ? readdirSync(builds) : []), ...secrets];
}

/** Removes what a story deployed. */
export function removeAppsAfter(runnerId: string): void {
  onTestFinished(async () => {
    const names = await podman('ps', '--all', `--filter=label=svc.runner=${runnerId}`, '--format={{.Names}}');
    for (const name of names.split('\n').filter((line) => line !== ''))
      await podman('rm', '--force', '--time=0', name);
  });
}
