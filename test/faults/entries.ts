/**
 * Defines what the journals hold. The simulators, the submitter and the rig write them, and the checker reads
 * them.
 */

/** Answer word of the control plane on a lease. */
export type LeaseWord = 'ok' | 'cancelled' | 'superseded';

/** The grant that an entry is about. */
interface Grant {
  readonly work: string;
  readonly epoch: number;
}

/** Journal of one runner identity; several processes write it one after the other. */
export type RunnerEntry =
  | { readonly event: 'boot'; readonly runnerId: string; readonly bootId: string; readonly pid: number }
  | (Grant & { readonly event: 'offered'; readonly pollId: string; readonly attempt: number })
  | (Grant & { readonly event: 'accepted' | 'start' })
  | (Grant & { readonly event: 'stop'; readonly exitCode: number })
  | (Grant & { readonly event: 'kill'; readonly why: 'superseded' | 'cancelled' | 'lease' | 'shutdown' })
  /** A heartbeat that was answered; `sentWall` is when it went out. */
  | {
      readonly event: 'heartbeat';
      readonly sentWall: number;
      readonly leases: ReadonlyArray<Grant & { readonly word: LeaseWord }>;
    }
  | (Grant & { readonly event: 'logs'; readonly bytes: number; readonly sha256: string })
  | (Grant & { readonly event: 'report-sent'; readonly reportId: string; readonly exitCode: number })
  /** `answer`: accepted, repeated, an error code, or `unanswered`. */
  | (Grant & { readonly event: 'report-answer'; readonly reportId: string; readonly answer: string })
  /** A build enters a phase; before `publishing` and `deploying` the control plane has said that it may. */
  | (Grant & { readonly event: 'phase'; readonly phase: string })
  | { readonly event: 'fatal'; readonly message: string };

/**
 * Journal of the submitter. `run` is a sandbox run, `build` a build, `project` a call that stores its answer
 * in a transaction.
 */
export type SubmitKind = 'run' | 'project' | 'build';
export type SubmitEntry =
  | { readonly event: 'intent'; readonly kind: SubmitKind; readonly key: string }
  /**
   * This is the outcome of one attempt. `ok` says that it was acknowledged with this id. `fail` says that it
   * was refused for good, and nothing may have happened by this attempt. `unknown` says that it may have
   * happened or not.
   */
  | {
      readonly event: 'outcome';
      readonly kind: SubmitKind;
      readonly key: string;
      readonly outcome: 'ok' | 'fail' | 'unknown';
      readonly id?: string;
      readonly status?: number;
      readonly code?: string;
    };

/** Journal of the rig: what was done to which process. */
export type RigEntry =
  | { readonly event: 'started'; readonly process: string; readonly pid: number }
  /** One that is `dead` is so at this moment at the latest. */
  | { readonly event: 'dead' | 'frozen' | 'thawed'; readonly process: string }
  | {
      readonly event: 'fault';
      /** Row of the plan. */
      readonly row?: string;
      readonly kind: string;
      readonly target: string;
      readonly detail?: string;
      /** Nothing was done: its target was down already, or out of reach. */
      readonly leftOut?: true;
    }
  /** It was undone; what it felt like after that is the product's own. */
  | { readonly event: 'undone'; readonly row: string; readonly afterMs: number }
  | { readonly event: 'healed' };

/** Name of the project that the rig makes for itself. */
export const SETUP_PROJECT = 'set up by the rig';

/** Label of a run that names its submission, so that SQL alone shows which rows belong to which key. */
export const KEY_LABEL = 'fault-key';
