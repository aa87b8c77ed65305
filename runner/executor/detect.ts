/**
 * Finds the executors that work on this machine. Each candidate must have run a task here before it is taken.
 */
import { createDockerExecutor } from './docker.ts';
import { probe } from './engine-setup.ts';
import type { BuildEngine, DetectOptions, Executor, ExecutorName } from './executor.ts';
import { createNamespacesExecutor } from './namespaces.ts';
import { createPodmanExecutor } from './podman.ts';
import { errorText } from '../platform/errors.ts';

/** `attempts` has one line for each candidate: what was tried, why it does not work here, what to install. */
export class ExecutorUnavailableError extends Error {
  override readonly name = 'ExecutorUnavailableError';
  readonly attempts: readonly string[];

  constructor(attempts: readonly string[]) {
    super(`no sandbox executor works on this machine:\n${attempts.map((line) => `  ${line}`).join('\n')}`);
    this.attempts = attempts;
  }
}

/** The one with the strongest isolation comes first. */
const CANDIDATES: readonly { name: ExecutorName; create: (options: DetectOptions) => Promise<Executor> }[] = [
  { name: 'podman', create: createPodmanExecutor },
  { name: 'docker', create: createDockerExecutor },
  { name: 'namespaces', create: createProbedNamespaces },
];

/** The first candidate that has really run a task on this machine; only `wanted` when that is given. */
export async function detectExecutor(options: DetectOptions): Promise<Executor> {
  const attempts: string[] = [];
  for (const candidate of CANDIDATES) {
    if (options.wanted !== undefined && options.wanted !== candidate.name) continue;
    try {
      const executor = await candidate.create(options);
      options.log('sandbox executor chosen', { executor: executor.name, description: executor.describe() });
      return executor;
    } catch (error) {
      attempts.push(`${candidate.name}: ${errorText(error)}`);
    }
  }
  throw new ExecutorUnavailableError(attempts);
}

export interface ExecutorSurvey {
  name: ExecutorName;
  works: boolean;
  /** The executor's description, or why it does not work and what to install. */
  detail: string;
  /** See Executor. */
  sharedUsers?: string | undefined;
  buildEngine?: BuildEngine;
}

/** Tries every candidate, for diagnosis; runs a probe task in each that works. */
export async function surveyExecutors(options: Omit<DetectOptions, 'wanted'>): Promise<ExecutorSurvey[]> {
  const found: ExecutorSurvey[] = [];
  for (const { name, create } of CANDIDATES) {
    try {
      const executor = await create(options);
      const { buildEngine, sharedUsers } = executor;
      found.push({
        name,
        works: true,
        detail: executor.describe(),
        sharedUsers,
        ...(buildEngine === undefined ? {} : { buildEngine }),
      });
    } catch (error) {
      found.push({ name, works: false, detail: errorText(error) });
    }
  }
  return found;
}

async function createProbedNamespaces(options: DetectOptions): Promise<Executor> {
  const executor = await createNamespacesExecutor(options);
  const failure = await probe(executor, options.runnerId);
  if (failure === undefined) return executor;
  throw new Error(
    `${failure}; the kernel must allow this user to make namespaces (kernel.unprivileged_userns_clone=1, user.max_user_namespaces>0, ` +
      'kernel.apparmor_restrict_unprivileged_userns=0), or run the runner as root, or install podman',
  );
}
