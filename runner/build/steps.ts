/**
 * This file runs the build steps in the clone, one container each. The first that fails ends the build with
 * its exit code.
 */
import { CA_BUNDLE_IN_CONTAINER, caEnv } from '../executor/ca-bundle.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Executor } from '../executor/executor.ts';
import type { BuildContext } from './context.ts';
import { BuildFailed, MachineFailed } from './failure.ts';
import { stepNetwork } from './step-network.ts';
import type { TestDatabase } from './test-database.ts';

/** Time limit of a step beyond the build's own deadline, which normally ends it. */
const NET_SECONDS = 60;
const PIDS = 4_096;
/** So many characters of a command are shown in messages. */
const SHOWN = 200;

export async function runSteps(
  context: BuildContext,
  executor: Pick<Executor, 'start'>,
  { deadlineMs, database }: { deadlineMs: number; database: TestDatabase | undefined },
): Promise<void> {
  const { plan, control } = context;
  for (const [at, step] of plan.steps.entries()) {
    const shown = step.length > SHOWN ? `${step.slice(0, SHOWN)}…` : step;
    await context.writeLine(`step ${at + 1} of ${plan.steps.length}: ${shown}`);
    control.check();
    const running = await executor.start(
      {
        runnerId: context.runnerId,
        workId: plan.id,
        epoch: plan.epoch,
        command: ['sh', '-ec', step],
        env: {
          ...(context.caFile === undefined ? {} : caEnv(CA_BUNDLE_IN_CONTAINER)),
          ...plan.variables,
          ...plan.secrets,
          ...database?.env,
        },
        network: stepNetwork(context, database),
        clone: {
          folder: context.workspace.clone,
          user: userOf(context),
          ...(context.caFile === undefined ? {} : { caFile: context.caFile }),
        },
        limits: {
          timeoutSeconds: Math.max(1, (deadlineMs - monotonicMs()) / 1_000) + NET_SECONDS,
          memoryMb: plan.limits.memoryMb,
          cpus: plan.limits.cpus,
          pids: PIDS,
          // The build's own limit counts all output together.
          outputBytes: Number.MAX_SAFE_INTEGER,
        },
      },
      context.output,
    );
    const onTerm = () => running.kill('cancelled');
    const onKill = () => running.kill('cancelled', 0);
    control.term.addEventListener('abort', onTerm);
    control.kill.addEventListener('abort', onKill);
    if (control.term.aborted) onTerm();
    const outcome = await running.done;
    control.term.removeEventListener('abort', onTerm);
    control.kill.removeEventListener('abort', onKill);
    control.check();
    const name = `build step ${at + 1} of ${plan.steps.length} (${shown})`;
    if (outcome.reason === 'memory')
      throw new BuildFailed(
        `${name} was over the memory limit of ${plan.limits.memoryMb} MiB`,
        outcome.exitCode,
      );
    if (outcome.reason !== 'exit')
      throw new MachineFailed(`${name} could not be run: ${outcome.message ?? outcome.reason}`);
    if (outcome.exitCode !== 0)
      throw new BuildFailed(`${name} failed with exit code ${outcome.exitCode}`, outcome.exitCode);
  }
}

/** The clone belongs to this process's user; in a rootless container that user is root. */
function userOf({ engine }: BuildContext): string {
  return engine.rootless ? '0:0' : `${process.geteuid?.() ?? 0}:${process.getegid?.() ?? 0}`;
}
