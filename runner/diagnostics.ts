/** What the runner says of its machine when it is asked (`svc runners diagnose --live`): versions and disk headroom, no paths and no values. */
import { freeMb } from './disk.ts';
import { runCommand } from './executor/command.ts';
import type { Executor } from './executor/executor.ts';
import type { WireDiagnostics } from './wire.ts';

const VERSION_LENGTH_MAX = 200;
const COMMAND_MS = 5_000;
/** The control plane waits 20 s for an answer in all. */
const DEPLOY_CLI = 'dokku';

export async function collectDiagnostics(
  executor: Pick<Executor, 'name'>,
  dataDir: string,
): Promise<WireDiagnostics> {
  const engine = executor.name === 'namespaces' ? Promise.resolve('') : versionOf(executor.name);
  const [containerCliVersion, deployCliVersion, workspaceFreeMb] = await Promise.all([
    engine,
    versionOf(DEPLOY_CLI),
    freeMb(dataDir),
  ]);
  return { containerCliVersion, deployCliVersion, workspaceFreeMb };
}

/** First line of `<program> --version`; empty when it is not installed or does not answer. */
async function versionOf(program: string): Promise<string> {
  const result = await runCommand([program, '--version'], { timeoutMs: COMMAND_MS });
  if (result.failure !== undefined || result.code !== 0) return '';
  return (result.stdout.split('\n')[0] ?? '').trim().slice(0, VERSION_LENGTH_MAX);
}
