/** Builds, and waits for the end. */
import type { CallOptions, Client } from './core/client.ts';
import { systemRuntime, type Runtime } from './core/runtime.ts';
import { Environments, type Build, type Builds, type BuildState } from './gen/index.ts';
import { checkMs, checkWaitOptions, POLL_INTERVAL_MS, POLL_TIMEOUT_MS, waitForEnd } from './wait.ts';

const GOES_ON: ReadonlySet<BuildState> = new Set(['queued', 'running', 'publishing', 'deploying']);

/** Parameters of `environments.deployAndWait`. */
export interface EnvironmentsDeployAndWaitParams {
  /** Between two looks at the build, in milliseconds. Default: 2,000. */
  pollIntervalMs?: number;
  /** Time limit of the whole wait, in milliseconds. Default: 1,800,000 (30 minutes). */
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
   * Builds the head of the environment's branch, deploys it where the environment says, and waits for the
   * end. Answers the build as it ended, whatever its `state`, and also when it waits for a person to approve
   * the deploy (`awaiting_approval`), because nobody may be there to do so. Throws `SvcTimeoutError` when it
   * has not ended after `pollTimeoutMs`; the build goes on.
   *
   * Needs: scope `project:write`.
   *
   * @example Deploy, and fail when that failed
   * const build = await sdk.environments.deployAndWait('env_01'); if (build.state !== 'succeeded') throw new
   * Error(build.message);
   */
  async deployAndWait(
    environmentId: string,
    params: EnvironmentsDeployAndWaitParams & CallOptions = {},
    own: CallOptions = {},
  ): Promise<Build> {
    checkWaitOptions('environments.deployAndWait', params, ['pollIntervalMs', 'pollTimeoutMs']);
    const { pollIntervalMs = POLL_INTERVAL_MS, pollTimeoutMs = POLL_TIMEOUT_MS, ...among } = params;
    const options = { ...among, ...own };
    checkMs('pollIntervalMs', pollIntervalMs, 1);
    checkMs('pollTimeoutMs', pollTimeoutMs, 0);
    return await waitForEnd<Build>({
      options,
      runtime: this.#runtime,
      intervalMs: pollIntervalMs,
      timeoutMs: pollTimeoutMs,
      start: () => this.#builds.create(environmentId, {}, options),
      look: ({ id }, reads) => this.#builds.get(environmentId, id, reads),
      goesOn: ({ state }) => GOES_ON.has(state),
      describe: ({ id, state }) => `build ${id} is ${state}`,
      afterwards: 'builds.get shows how it ends',
    });
  }
}
