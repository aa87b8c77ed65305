/**
 * Tells, of one call with an egress, whether a connection failed because its destination may not be reached.
 */
import type { EgressRules } from './egress.ts';

/** One text for all destinations that may not be reached, whatever is or is not there. */
export const UNREACHABLE = 'no public address that may be reached answers there';

/**
 * Nothing listens in the call's network for a connection that is not even begun: neither its name nor its
 * port is one that may be reached.
 */
const NOT_BEGUN =
  /could not resolve|no such host|failed to connect|couldn't connect|connect to (?:host|address)|connection refused|unreachable|no route to host|cannot assign requested address/i;

export interface RefusalWatch {
  readonly rules: EgressRules;
  /** A destination that may be reached did not answer. */
  readonly failed: boolean;
  /** @param output What the call that failed has printed. */
  isUnreachable(output: string): boolean;
}

export function watchRefusals(rules: EgressRules): RefusalWatch {
  let [forbidden, failed] = [false, false];
  return {
    rules: {
      ...rules,
      refused(line, why) {
        if (why === 'forbidden') forbidden = true;
        else failed = true;
        rules.refused(line, why);
      },
    },
    get failed() {
      return failed;
    },
    isUnreachable: (output) => forbidden || (NOT_BEGUN.test(output) && !failed),
  };
}
