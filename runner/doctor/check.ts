/** Defines the context and the result of the doctor's checks. */
import type { RunnerConfig, DataPaths } from '../disk/identity.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { RunSettings } from '../daemon/run-settings.ts';

export interface Finding {
  /** `skip`: there was nothing to check, or it is not needed. */
  status: 'ok' | 'warn' | 'fail' | 'skip';
  detail: string;
  /** Advice, when it is not `ok`. */
  advice?: string;
}

const finding =
  (status: Finding['status']) =>
  (detail: string, advice?: string): Finding => ({
    status,
    detail,
    ...(advice === undefined ? {} : { advice }),
  });
export const ok = finding('ok');
export const warn = finding('warn');
export const fail = finding('fail');
export const skip = finding('skip');

export interface CheckResult extends Finding {
  name: string;
  tookMs: number;
}

export interface CheckContext {
  paths: DataPaths;
  config?: RunnerConfig;
  settings: RunSettings;
  baseUrl?: string;
  /** The registry to check, `host[:port][/namespace]`. */
  registry?: string;
  /** Pushes a tiny image there. */
  pushTest: boolean;
  env: NodeJS.ProcessEnv;
}

/** Runs one check of a group and keeps its result. */
export type Check = (name: string, look: () => Promise<Finding> | Finding) => Promise<void>;

/** Checks that build on each other. Groups are independent and run side by side. */
export type CheckGroup = (context: CheckContext, check: Check) => Promise<void>;

/** Time limit of one check, so that one that hangs does not hang the doctor. */
const CHECK_MS_MAX = 180_000;

export function collect(results: CheckResult[]): Check {
  return async (name, look) => {
    const begunMs = monotonicMs();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Finding>((resolve) => {
      timer = setTimeout(
        () =>
          resolve(
            fail(
              `no answer within ${CHECK_MS_MAX / 1000} s`,
              'something on this machine hangs; look there first',
            ),
          ),
        CHECK_MS_MAX,
      );
    });
    const found = await Promise.race([guarded(look), late]);
    clearTimeout(timer);
    results.push({ name, ...found, tookMs: Math.round(monotonicMs() - begunMs) });
  };
}

async function guarded(look: () => Promise<Finding> | Finding): Promise<Finding> {
  try {
    return await look();
  } catch (error) {
    return fail(errorText(error), 'this check itself failed; please report it');
  }
}
