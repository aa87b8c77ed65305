/**
 * The status of a commit that is posted for a run: a state, a context for each pipeline, one sentence.
 * Nothing here reads a clock or a database.
 */
import { clip, digest, type CommitState } from '../providers/index.ts';
import type { Run } from '../runs/index.ts';

type Reported = Pick<Run, 'status' | 'reason' | 'lost' | 'durationMs' | 'soft'>;

/** Reasons that lie in the infrastructure rather than in what was tested. */
const ERRORS: ReadonlySet<string | null> = new Set(['error', 'startup']);

/**
 * Returns undefined when nothing is posted yet. A run that waits is not posted, so that it takes two posts
 * and not three; one that was skipped does not block, as with GitHub's own; one whose end is not known is
 * posted only when nobody is left to ask.
 */
export function commitStateOf({ status, reason, lost }: Reported): CommitState | undefined {
  switch (status) {
    case 'queued':
      return undefined;
    case 'running':
      return 'pending';
    case 'success':
      return 'success';
    case 'failed':
      return ERRORS.has(reason) ? 'error' : 'failure';
    case 'cancelled':
      return reason === 'skipped' ? 'success' : 'cancelled';
    case 'unknown':
      return lost ? 'error' : undefined;
  }
}

/** GitHub refuses more than 140 and counts code points. */
export const DESCRIPTION_MAX = 140;

export function descriptionOf(run: Reported & { readonly pipelineName: string }): string {
  const reason = run.reason === null || run.reason === 'skipped' ? '' : ` (${plain(run.reason)})`;
  const soft = run.soft ? ', with failures that were allowed' : '';
  const took = run.durationMs === null || run.status === 'running' ? '' : ` after ${spanOf(run.durationMs)}`;
  const outcome = `${OUTCOMES[run.reason === 'skipped' ? 'skipped' : run.status]}${took}${reason}${soft}`;
  return shorten(`${plain(run.pipelineName)}: `, outcome);
}

const OUTCOMES: Readonly<Record<Run['status'] | 'skipped', string>> = {
  queued: 'waits',
  running: 'runs',
  success: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
  unknown: 'how it ended is not known',
};

/** The pipeline's name gives way: what happened matters more. */
function shorten(name: string, outcome: string): string {
  const whole = [...`${name}${outcome}`];
  if (whole.length <= DESCRIPTION_MAX) return whole.join('');
  const room = DESCRIPTION_MAX - [...outcome].length - ELLIPSIS.length;
  const start = room > 0 ? [...name].slice(0, room).join('') : '';
  return [...`${start}${start === '' ? '' : ELLIPSIS}${outcome}`].slice(0, DESCRIPTION_MAX).join('');
}

const ELLIPSIS = '…: ';

function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Makes one line of the text. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
}

/** UTF-16 units; the shortest limit of the hosts that have contexts. */
const CONTEXT_MAX = 250;

/** `path` distinguishes pipelines of one name; it is empty for the first of them. */
export function contextOf(name: string, path: string): string {
  const context = `svc/${plain(name)}${path === '' ? '' : ` (${plain(path)})`}`;
  return context.length <= CONTEXT_MAX
    ? context
    : `${clip(context, CONTEXT_MAX - 11)}…${digest(context, 10)}`;
}
