/** What a check of the doctor is given, and what it finds. */
import type { RunnerConfig, DataPaths } from '../disk/identity.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { RunSettings } from '../daemon/run-settings.ts';

export interface Finding {
  /** `skip`: there was nothing to look at, or it is not needed. */
  status: 'ok' | 'warn' | 'fail' | 'skip';
  detail: string;
  /** What to do, when it is not `ok`. */
  advice?: string;
}

export interface CheckResult extends Finding {
  name: string;
  tookMs: number;
}

export interface CheckContext {
  paths: DataPaths;
  config?: RunnerConfig;
  settings: RunSettings;
  baseUrl?: string;
  /** `host[:port][/namespace]` to look at. */
  registry?: string;
  /** Push a tiny image there, for real. */
  pushTest: boolean;
  env: NodeJS.ProcessEnv;
}

/** Runs one check of a group and keeps its result. */
export type Check = (name: string, look: () => Promise<Finding> | Finding) => Promise<void>;

/** Several checks of which one builds on another. Groups know nothing of each other and run side by side. */
export type CheckGroup = (context: CheckContext, check: Check) => Promise<void>;

/** One check that hangs must not hang the doctor. */
const CHECK_MS_MAX = 180_000;

export function collect(results: CheckResult[]): Check {
  return async (name, look) => {
    const begunMs = monotonicMs();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Finding>((resolve) => {
      timer = setTimeout(
        () =>
          resolve({
            status: 'fail',
            detail: `no answer within ${CHECK_MS_MAX / 1000} s`,
            advice: 'something on this machine hangs; look there first',
          }),
        CHECK_MS_MAX,
      );
    });
    const finding = await Promise.race([guarded(look), late]);
    clearTimeout(timer);
    results.push({ name, ...finding, tookMs: Math.round(monotonicMs() - begunMs) });
  };
}

async function guarded(look: () => Promise<Finding> | Finding): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    return {
      status: 'fail',
      detail: errorText(error),
      advice: 'this check itself failed; please report it',
    };
  }
}
