/**
 * Builds, and waits for the end by asking for the build again and again. The build itself goes on whatever happens to the wait: a timeout, an abort or a
 * control plane that is away cancels nothing.
 */
import type { CallOptions, Client } from './core/client.ts';
import { SvcApiError, SvcTimeoutError } from './core/errors.ts';
import { systemRuntime, type Runtime } from './core/runtime.ts';
import { sleep } from './core/scope.ts';
import { Environments, type Build, type Builds, type BuildState } from './gen/index.ts';

const POLL_INTERVAL_MS = 2_000;
const POLL_TIMEOUT_MS = 30 * 60_000;
const GOES_ON: ReadonlySet<BuildState> = new Set(['queued', 'running', 'publishing', 'deploying']);

/** Parameters of `environments.deployAndWait`. */
export interface EnvironmentsDeployAndWaitParams {
  /** Between two looks at the build, in milliseconds. Default: 2,000. */
  pollIntervalMs?: number;
  /** Of the whole wait, in milliseconds. Default: 1,800,000 (30 minutes). */
  pollTimeoutMs?: number;
}

/** Environments, with what is made of several calls. */
export class DeployingEnvironments extends Environments {
  readonly #builds: Pick<Builds, 'create' | 'get'>;
  readonly #runtime: Runtime;

  /** `runtime` is for tests. */
  constructor(client: Client, builds: Pick<Builds, 'create' | 'get'>, runtime: Runtime = systemRuntime) {
    super(client);
    this.#builds = builds;
    this.#runtime = runtime;
  }

  /**
   * Builds the head of the environment's branch, deploys it where the environment says, and waits for the end. Answers the build as it ended, whatever its
   * `state`, and also when it waits for a person to approve the deploy (`awaiting_approval`), because nobody may be there to do so. Throws
   * `SvcTimeoutError` when it has not ended after `pollTimeoutMs`; the build goes on.
   *
   * Needs: scope `project:write`.
   *
   * @example Deploy, and fail when that failed
   * const build = await sdk.environments.deployAndWait('env_01');
   * if (build.state !== 'succeeded') throw new Error(build.message);
   */
  async deployAndWait(
    environmentId: string,
    params: EnvironmentsDeployAndWaitParams = {},
    options: CallOptions = {},
  ): Promise<Build> {
    const { pollIntervalMs = POLL_INTERVAL_MS, pollTimeoutMs = POLL_TIMEOUT_MS } = params;
    check('pollIntervalMs', pollIntervalMs, 1);
    check('pollTimeoutMs', pollTimeoutMs, 0);
    const runtime = this.#runtime;
    const { signal } = options;
    const endAt = runtime.now() + pollTimeoutMs;
    const { idempotencyKey: _used, ...forReads } = options;
    let build = await this.#builds.create(environmentId, {}, options);
    const label = `the wait for build ${build.id}`;
    while (GOES_ON.has(build.state)) {
      const leftMs = endAt - runtime.now();
      if (leftMs <= 0)
        throw new SvcTimeoutError(
          `build ${build.id} is ${build.state} after ${pollTimeoutMs} ms; it goes on, builds.get shows how it ends`,
        );
      await sleep(Math.min(pollIntervalMs, leftMs), { label, signal, runtime });
      try {
        build = await this.#builds.get(environmentId, build.id, forReads);
      } catch (error) {
        // The time limit above ends a wait for a control plane that stays away.
        if (!(error instanceof SvcApiError && error.retryable)) throw error;
      }
    }
    return build;
  }
}

function check(name: string, value: number, min: number): void {
  if (!Number.isFinite(value) || value < min)
    throw new TypeError(`${name} is ${value}, expected a number of milliseconds from ${min}`);
}
