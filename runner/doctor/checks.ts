/**
 * This file runs the doctor's checks: groups run side by side, and their results come in a fixed order. Each
 * is limited in time and has no lasting effect, except for a push that was asked for.
 */
import { collect, type CheckContext, type CheckGroup, type CheckResult } from './check.ts';
import { backlog } from './checks/backlog.ts';
import { cgroups } from './checks/cgroups.ts';
import { controlPlane } from './checks/control-plane.ts';
import { databases } from './checks/databases.ts';
import { dataFolder } from './checks/data-folder.ts';
import { disk } from './checks/disk.ts';
import { edge } from './checks/edge.ts';
import { enrollment } from './checks/enrollment.ts';
import { executors } from './checks/executors.ts';
import { lag } from './checks/lag.ts';
import { registry } from './checks/registry.ts';
import { tools } from './checks/tools.ts';
import { userNamespaces } from './checks/user-namespaces.ts';

export type { CheckContext, CheckResult } from './check.ts';

/** Their results come in this order. */
const GROUPS: readonly CheckGroup[] = [
  dataFolder,
  enrollment,
  disk,
  executors,
  cgroups,
  userNamespaces,
  controlPlane,
  registry,
  tools,
  edge,
  databases,
  backlog,
];

/** `onResult` runs for each result as soon as it and all before it are known. */
export async function runChecks(
  context: CheckContext,
  onResult: (result: CheckResult) => void,
): Promise<CheckResult[]> {
  const all: CheckResult[] = [];
  const emit = (results: readonly CheckResult[]): void => {
    for (const result of results) {
      all.push(result);
      onResult(result);
    }
  };
  // The lag is measured first and alone: it would include the load of the other checks.
  emit(await runGroup(lag, context));
  const running = GROUPS.map(async (group) => await runGroup(group, context));
  for (const results of running) emit(await results);
  return all;
}

async function runGroup(group: CheckGroup, context: CheckContext): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  const check = collect(results);
  try {
    await group(context, check);
  } catch (error) {
    await check('doctor', () => {
      throw error;
    });
  }
  return results;
}
