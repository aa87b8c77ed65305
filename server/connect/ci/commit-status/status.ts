/** What a commit is told of a run: one word, one context for each pipeline, one sentence. Nothing here reads a clock or a database. */
import { createHash } from 'node:crypto';
import type { ForgeApi } from '../forges/call.ts';
import { clip } from '../providers/read.ts';
import type { Run } from '../model/run.ts';

export type ToldWord = 'pending' | 'success' | 'failure' | 'error' | 'cancelled';

export interface CommitStatus {
  readonly sha: string;
  /** `svc/<pipeline>`: what our own statuses are known by when they come back as webhooks. */
  readonly context: string;
  readonly word: ToldWord;
  readonly description: string;
  readonly targetUrl: string | undefined;
  readonly branch: string | undefined;
  readonly tag: string | undefined;
  /** The run at the repository's host, when the host itself runs it. */
  readonly ownRunId: string | undefined;
}

type Told = Pick<Run, 'status' | 'reason' | 'lost' | 'durationMs' | 'soft'>;

/** Infrastructure rather than what was tested. */
const ERRORS: ReadonlySet<string | null> = new Set(['error', 'startup']);

/**
 * Undefined: nothing yet. A run that waits is not told, so that it takes two posts and not three; one that was skipped does not block, as with GitHub's
 * own; one whose end is not known is told only when nobody is left to ask.
 */
export function wordOf({ status, reason, lost }: Told): ToldWord | undefined {
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

export function descriptionOf(run: Told & { readonly pipelineName: string }): string {
  const reason = run.reason === null || run.reason === 'skipped' ? '' : ` (${plain(run.reason)})`;
  const soft = run.soft ? ', with failures that were allowed' : '';
  const took = run.durationMs === null || run.status === 'running' ? '' : ` after ${spanOf(run.durationMs)}`;
  const said = `${SAID[run.reason === 'skipped' ? 'skipped' : run.status]}${took}${reason}${soft}`;
  return shorten(`${plain(run.pipelineName)}: `, said);
}

const SAID: Readonly<Record<Run['status'] | 'skipped', string>> = {
  queued: 'waits',
  running: 'runs',
  success: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  skipped: 'was skipped',
  unknown: 'how it ended is not known',
};

/** The pipeline's name gives way: what happened matters more. */
function shorten(name: string, said: string): string {
  const whole = [...`${name}${said}`];
  if (whole.length <= DESCRIPTION_MAX) return whole.join('');
  const room = DESCRIPTION_MAX - [...said].length - ELLIPSIS.length;
  const start = room > 0 ? [...name].slice(0, room).join('') : '';
  return [...`${start}${start === '' ? '' : ELLIPSIS}${said}`].slice(0, DESCRIPTION_MAX).join('');
}

const ELLIPSIS = '…: ';

function spanOf(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** One line. */
function plain(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f]+/g, ' ').trim();
}

/** UTF-16 units; the shortest limit of the hosts that have contexts. */
const CONTEXT_MAX = 250;

/** `path` tells pipelines of one name apart; empty for the first of them. */
export function contextOf(name: string, path: string): string {
  const context = `svc/${plain(name)}${path === '' ? '' : ` (${plain(path)})`}`;
  return context.length <= CONTEXT_MAX
    ? context
    : `${clip(context, CONTEXT_MAX - 11)}…${digest(context, 10)}`;
}

export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}

/** Everything but 2xx is thrown as a ForgeError. */
export type PostStatus = (api: ForgeApi, status: CommitStatus) => Promise<void>;
