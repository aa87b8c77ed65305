/**
 * Single submissions over the public API, each attempt journalled: what is wanted before, what became of it
 * after.
 */
import { createHash } from 'node:crypto';
import { KEY_LABEL, type SubmitEntry, type SubmitKind } from './entries.ts';
import type { HttpAnswer, HttpCall, HttpClient } from './http-client.ts';
import type { Journal } from './journal.ts';

export interface Submission {
  readonly kind: SubmitKind;
  readonly key: string;
  readonly path: string;
  readonly body: object;
}

export interface SubmissionsOptions {
  readonly url: string;
  readonly apiKey: string;
  readonly teamId: string;
  /** Begins every key. */
  readonly name: string;
  readonly journal: Journal<SubmitEntry>;
  readonly client: HttpClient;
  readonly timeoutMs: number;
}

const NO_PROJECT = `prj_${'0'.repeat(26)}`;

type Outcome = Extract<SubmitEntry, { event: 'outcome' }>;
type SubmitOutcome = Pick<Outcome, 'outcome' | 'id' | 'status' | 'code'>;

export function createSubmissions({
  url,
  apiKey,
  teamId,
  name,
  journal,
  client,
  timeoutMs,
}: SubmissionsOptions) {
  /**
   * Journals the intent and makes the call, for who sends it in a way of his own; `end` journals what became
   * of it.
   */
  const begin = async ({ kind, key, path, body }: Submission, limitMs: number): Promise<HttpCall> => {
    await journal.append({ event: 'intent', kind, key });
    const headers = {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    };
    return {
      method: 'POST',
      url: new URL(path, url),
      headers,
      body: JSON.stringify(body),
      timeoutMs: limitMs,
    };
  };
  const end = async ({ kind, key }: Submission, answer: Promise<HttpAnswer>): Promise<SubmitOutcome> => {
    const outcome: SubmitOutcome = await answer.then(outcomeOf, (error: unknown) => ({
      outcome: 'unknown' as const,
      code: (error instanceof Error ? error.message : String(error)).slice(0, 200),
    }));
    await journal.append({ event: 'outcome', kind, key, ...outcome });
    return outcome;
  };
  /** Makes one call. ok: acknowledged. fail: refused for good. unknown: it may have happened. */
  const attempt = async (submission: Submission): Promise<Outcome['outcome']> =>
    (await end(submission, client.call(await begin(submission, timeoutMs)))).outcome;
  return {
    /** Submits a run, which is for another team than its own when one is named. */
    run: (i: number, command: readonly string[], otherTeamId = teamId): Submission => {
      const key = `${name}-run-${i}`;
      return {
        kind: 'run',
        key,
        path: `/teams/${otherTeamId}/sandbox-runs`,
        body: { purpose: 'agent_task', command, labels: { [KEY_LABEL]: key } },
      };
    },
    project: (i: number): Submission => {
      const key = `${name}-project-${i}`;
      return { kind: 'project', key, path: '/projects', body: { name: key, teamId } };
    },
    /** Wants an environment of a project that does not exist: its transaction begins and is rolled back. */
    refused: (i: number): Submission => {
      const key = `${name}-refused-${i}`;
      return { kind: 'project', key, path: `/projects/${NO_PROJECT}/environments`, body: { name: key } };
    },
    build: (i: number, environmentId: string): Submission => {
      // The key is the commit too, so that SQL alone shows which row belongs to which key.
      const key = createHash('sha1').update(`${teamId} ${name} build ${i}`).digest('hex');
      return { kind: 'build', key, path: `/environments/${environmentId}/builds`, body: { commit: key } };
    },
    begin,
    end,
    attempt,
    /** Repeats it until it is acknowledged or refused for good, or the patience ends. */
    submit: async (submission: Submission, patienceMs: number): Promise<void> => {
      const until = performance.now() + patienceMs;
      for (let tries = 0; performance.now() < until; tries += 1) {
        if ((await attempt(submission)) !== 'unknown') return;
        await new Promise((resolve) =>
          setTimeout(resolve, Math.min(1_000, 60 * 2 ** tries) * (0.5 + Math.random() / 2)),
        );
      }
    },
  };
}

/**
 * Returns what an answer says about the effect. Where it was in flight elsewhere, too many, or broken inside,
 * it may have happened.
 */
function outcomeOf({ status, code, body }: HttpAnswer): SubmitOutcome {
  const about = { status, ...(code === undefined ? {} : { code }) };
  const { id } = body;
  if ((status === 200 || status === 201) && typeof id === 'string') return { outcome: 'ok', id, ...about };
  const definite = status >= 400 && status < 500 && ![408, 409, 425, 429].includes(status);
  return { outcome: definite ? 'fail' : 'unknown', ...about };
}
