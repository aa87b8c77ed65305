/**
 * This file makes the folders of a build on this machine: one for its clone and temporary files, and one for
 * its secrets, in memory where possible and closed to other users. Both carry the build's name, and so does
 * everything that must be removed with them.
 *
 * `destroyWorkspace` owns the order: processes, the engine's leftovers, secrets, and the folder last, because
 * as long as the folder exists the next start of the daemon tries again.
 *
 */
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, errorText } from '../platform/errors.ts';
import { failureText, findProgram, runCommand } from '../executor/command.ts';
import { runEngine } from '../executor/engine.ts';
import type { BuildEngine } from '../executor/executor.ts';
import { killMarked, mountsBelow } from './marked.ts';

const NAME = /^svc-build-[0-9a-f]{12}-([A-Za-z0-9_]+)-(\d+)$/;
/**
 * Id of a secret that no step mounts. It puts the build's name into the engine's records of its containers.
 */
export const MARKER_SECRET = 'svc.work';
const CALL_MS = 30_000;

export interface BuildHost {
  dataDir: string;
  runnerId: string;
  /** Undefined when the executor cannot build; then only folders and processes can be cleaned up. */
  engine: BuildEngine | undefined;
}

export interface Workspace {
  /** Unique on this machine. */
  readonly name: string;
  readonly folder: string;
  readonly clone: string;
  readonly home: string;
  readonly temporary: string;
  readonly secrets: string;
}

export function workspaceOf(host: BuildHost, id: string, epoch: number): Workspace {
  // Two data folders on one machine must not clean each other's builds.
  const own = createHash('sha256').update(`${host.dataDir}\0${host.runnerId}`).digest('hex').slice(0, 12);
  return workspaceNamed(host, `svc-build-${own}-${id}-${epoch}`);
}

function workspaceNamed(host: BuildHost, name: string): Workspace {
  const folder = join(buildsFolder(host), name);
  return {
    name,
    folder,
    clone: join(folder, 'clone'),
    home: join(folder, 'home'),
    temporary: join(folder, 'tmp'),
    secrets: join(host.engine?.privateFolder ?? join(host.dataDir, 'launch'), name),
  };
}

/** The paths of this machine that commands of a build may print. */
export function machinePaths(host: BuildHost, { clone, folder, secrets }: Workspace): string[] {
  const dataDir = host.dataDir;
  const ofData = ['builds', 'stores', 'launch', 'ca-bundle.pem'].map((name) => join(dataDir, name));
  const ofEngine = host.engine === undefined ? [] : [host.engine.privateFolder];
  return [clone, folder, secrets, ...ofData, ...ofEngine];
}

function buildsFolder(host: BuildHost): string {
  return join(host.dataDir, 'builds');
}

export async function makeWorkspace(workspace: Workspace): Promise<void> {
  for (const folder of ['folder', 'clone', 'home', 'temporary', 'secrets'] as const)
    await mkdir(workspace[folder], { recursive: true, mode: 0o700 });
  await writeSecret(workspace, { name: 'marker', text: workspace.name });
}

/** Writes a file that only this user can read; returns its path. */
export async function writeSecret(
  workspace: Workspace,
  { name, text, mode = 0o600 }: { name: string; text: string; mode?: number },
): Promise<string> {
  const path = join(workspace.secrets, name);
  await writeFile(path, text, { mode });
  return path;
}

export interface Swept {
  id: string;
  epoch: number;
  /** The reason why a part of it is left. */
  problem?: string;
}

/** Destroys the builds that have a folder here and are not live, each one whatever becomes of the others. */
export async function sweepWorkspaces(
  host: BuildHost,
  isLive: (id: string, epoch: number) => boolean,
): Promise<Swept[]> {
  await mkdir(buildsFolder(host), { recursive: true, mode: 0o700 });
  const swept: Swept[] = [];
  for (const name of await readdir(buildsFolder(host))) {
    const [, id, epoch] = NAME.exec(name) ?? [];
    if (id === undefined || isLive(id, Number(epoch))) continue;
    const ref = { id, epoch: Number(epoch) };
    swept.push(
      await destroyWorkspace(host.engine, workspaceNamed(host, name)).then(
        () => ref,
        (error: unknown) => ({ ...ref, problem: errorText(error) }),
      ),
    );
  }
  return swept;
}

/**
 * Rejects with a message about what is left.
 * @param engine The machine's engine, when the build may have been made by it; a contained build never is.
 */
export async function destroyWorkspace(engine: BuildEngine | undefined, workspace: Workspace): Promise<void> {
  const gone = await killMarked(workspace.name);
  if (engine !== undefined) await removeEngineLeftovers(engine, workspace);
  await rm(workspace.secrets, { recursive: true, force: true });
  for (const point of await mountsBelow(workspace.folder))
    await runCommand(['umount', '--lazy', point], { timeoutMs: CALL_MS });
  const mounted = await mountsBelow(workspace.folder);
  // Deleting through a mount would delete what lies behind it.
  if (mounted.length > 0) throw new Error(`${mounted[0]} is still mounted`);
  if (!gone) throw new Error(`processes of ${workspace.name} do not end`);
  await removeTree(workspace.folder);
}

/**
 * Build steps leave folders without the write bit, as Go's module cache has them: only root can delete from
 * these as they are.
 */
async function removeTree(folder: string): Promise<void> {
  const remove = async () => await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await remove();
  } catch (error) {
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    await openFolders(folder);
    await remove();
  }
}

/** No process of the build runs any more, so a folder cannot become a link before its mode is changed. */
async function openFolders(folder: string): Promise<void> {
  if (!(await lstat(folder)).isDirectory()) return;
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true }))
    // A folder of another owner may be empty, which suffices; otherwise the removal fails with a message.
    if (entry.isDirectory()) await openFolders(join(folder, entry.name)).catch(() => undefined);
}

/**
 * Removes containers in which a killed engine was building: they have no label, but the engine's records hold
 * what they were given.
 */
async function removeEngineLeftovers(build: BuildEngine, workspace: Workspace): Promise<void> {
  const { engine } = build;
  if (engine.name !== 'podman') return;
  const runtime = findProgram(engine.runtime ?? 'runc');
  for (const entry of await readdir(workspace.temporary).catch(() => [])) {
    // buildah names a runtime's container after its working folder. It may be gone already.
    if (runtime !== undefined && /^buildah\d+$/.test(entry))
      await runCommand([runtime, 'delete', '--force', `buildah-${entry}`], { timeoutMs: CALL_MS });
  }
  const listed = await runEngine(
    engine,
    CALL_MS,
    'ps',
    '--all',
    '--external',
    '--no-trunc',
    '--format={{.ID}} {{.Status}}',
  );
  if (listed.code !== 0) throw new Error(`podman cannot list build containers: ${failureText(listed)}`);
  const ids = listed.stdout.split('\n').flatMap((line) => /^([0-9a-f]{64}) Storage/.exec(line)?.[1] ?? []);
  if (ids.length === 0) return;
  const info = await runEngine(
    engine,
    CALL_MS,
    'info',
    '--format={{.Store.GraphRoot}}/{{.Store.GraphDriverName}}-containers',
  );
  for (const id of ids) {
    const path = join(info.stdout.trim(), id, 'userdata', 'buildah.json');
    if (!(await readFile(path, 'utf8').catch(() => '')).includes(workspace.name)) continue;
    const removed = await runEngine(engine, CALL_MS, 'rm', '--force', id);
    if (removed.code !== 0)
      throw new Error(`build container ${id.slice(0, 12)} is not removed: ${failureText(removed)}`);
  }
}
