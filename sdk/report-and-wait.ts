/**
 * Reports a run of an external CI system, and waits for its end, whoever tells of it: another report, or the
 * provider's webhooks.
 */
import type { CallOptions, Client } from './core/client.ts';
import { systemRuntime, type Runtime } from './core/runtime.ts';
import { Ci, type CiReportParams, type CiRun } from './gen/index.ts';
import { checkMs, checkWaitOptions, POLL_INTERVAL_MS, POLL_TIMEOUT_MS, waitForEnd } from './wait.ts';

/** Parameters of `ci.reportAndWait`. */
export interface CiReportAndWaitParams {
  /** Between two looks at the run, in milliseconds. Default: 2,000. */
  pollIntervalMs?: number;
  /** Time limit of the whole wait, in milliseconds. Default: 1,800,000 (30 minutes). */
  timeoutMs?: number;
}

/** External CI, with what is made of several calls. */
export class ReportingCi extends Ci {
  readonly #runtime: Runtime;

  /** `runtime` is for tests. */
  constructor(client: Client, runtime: Runtime = systemRuntime) {
    super(client);
    this.#runtime = runtime;
  }

  /**
   * Reports a run and waits until it has ended. Answers the run as it ended, whatever its `status`, and also
   * while it waits for a person (`blocked`), because nobody may be there. Throws `SvcTimeoutError` when it
   * has not ended after `timeoutMs`; the run goes on.
   *
   * Without a `status` the run is reported as `queued`, unlike by `report`: whatever else is told of it
   * stands before that.
   *
   * Needs: scopes `ci:write` and `ci:read`.
   *
   * @example Wait for a run that the provider's webhooks tell of, and fail when it failed
   * const run = await sdk.ci.reportAndWait({ ciConnectionId: 'cic_01', externalRunId: '42' }); if (run.status
   * !== 'success') throw new Error(run.reason ?? run.status);
   */
  async reportAndWait(
    data: CiReportParams,
    params: CiReportAndWaitParams & Omit<CallOptions, 'timeoutMs'> = {},
    own: CallOptions = {},
  ): Promise<CiRun> {
    checkWaitOptions('ci.reportAndWait', params, ['pollIntervalMs', 'timeoutMs']);
    const { pollIntervalMs = POLL_INTERVAL_MS, timeoutMs = POLL_TIMEOUT_MS, ...among } = params;
    const options = { ...among, ...own };
    checkMs('pollIntervalMs', pollIntervalMs, 1);
    checkMs('timeoutMs', timeoutMs, 0);
    return await waitForEnd<CiRun>({
      options,
      runtime: this.#runtime,
      intervalMs: pollIntervalMs,
      timeoutMs,
      // A run that was reported as running would hide that its provider has it queued or blocked.
      start: () => this.report({ ...data, status: data.status ?? 'queued' }, options),
      look: ({ id }, reads) => this.getRun(id, reads),
      goesOn: ({ status, blocked }) => (status === 'queued' || status === 'running') && !blocked,
      describe: ({ id, status }) => `run ${id} is ${status}`,
      afterwards: 'ci.getRun shows how it ends',
    });
  }
}
