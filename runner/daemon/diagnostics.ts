/**
 * The runner's self-diagnostics (`svc runners diagnose --live`): versions and free disk, no paths and no
 * values.
 */
import { freeMb } from '../disk/free-space.ts';
import { findProgram, runCommand } from '../executor/command.ts';
import type { Executor } from '../executor/executor.ts';
import type { WireDiagnostics } from '../control-plane/wire.ts';

const VERSION_LENGTH_MAX = 200;
/** The control plane waits 20 s for an answer in all. */
const COMMAND_MS = 5_000;
const CONTAINER_CLIS = ['podman', 'docker'] as const;
const DEPLOY_CLI = 'dokku';

export async function collectDiagnostics(
  executor: Pick<Executor, 'name'>,
  dataDir: string,
  find: (name: string) => string | undefined = findProgram,
): Promise<WireDiagnostics> {
  // The engine in use is asked for its version; where none works, the installed one, which is what the reader
  // looks for then.
  const engine =
    executor.name === 'namespaces' ? CONTAINER_CLIS.find((name) => find(name) !== undefined) : executor.name;
  const [containerCliVersion, deployCliVersion, workspaceFreeMb] = await Promise.all([
    engine === undefined ? '' : versionOf(find(engine)),
    versionOf(find(DEPLOY_CLI)),
    freeMb(dataDir),
  ]);
  return { containerCliVersion, deployCliVersion, workspaceFreeMb };
}

/**
 * Finds the first line of `<program> --version`. It is empty when the program is not installed or does not
 * answer.
 */
async function versionOf(program: string | undefined): Promise<string> {
  if (program === undefined) return '';
  const result = await runCommand([program, '--version'], { timeoutMs: COMMAND_MS });
  if (result.failure !== undefined || result.code !== 0) return '';
  return (result.stdout.split('\n')[0] ?? '').trim().slice(0, VERSION_LENGTH_MAX);
}
