/**
 * Mails are durable jobs. One is written in the transaction of what it tells of, with its token sealed; the
 * row goes away when the mail server took the mail, and a mail that is given up loses its token. It may be
 * sent twice when a worker is lost in between: it is the same mail then, with the same id.
 */
import type { Letter } from '../../base/mail/letter.ts';
import { MailRefused, type Mail } from '../../base/mail/smtp.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { addJob, doubling, JobFailed, type Job, type JobKind } from '../jobs/index.ts';

export { named } from '../../base/mail/letter.ts';
export type { Letter } from '../../base/mail/letter.ts';
export type { Mail } from '../../base/mail/smtp.ts';

interface MailPayload extends Record<string, unknown> {
  readonly ref: string;
  readonly sealed: string;
  readonly at: string;
}

export interface MailOf {
  /** Name of the job. */
  readonly kind: string;
  /** Resolves with undefined when what it told of does not hold any more: nothing is sent then. */
  letter(which: MailRef): Promise<Letter | undefined>;
  sent?(which: MailRef): Promise<void>;
  /** It is given up, for this reason. */
  failed?(ref: string, reason: string): Promise<void>;
}

export interface MailRef {
  /** Id of what it is about. */
  readonly ref: string;
  readonly token: string;
}

/** They take about 15 hours with the waits below. */
const ATTEMPTS = 24;
const FIRST_WAIT_MS = 10_000;
const LONGEST_WAIT_MS = 3_600_000;
/** Above what all steps of one connection take together. */
const TIMEOUT_MS = 60_000;
const AT_ONCE = 8;
const OF_TEAM = 2;

const placeOf = (kind: string, ref: string): string => `jobs.payload:${kind} ${ref}`;

export interface NewMail extends MailRef {
  readonly kind: string;
  /** It is null for a mail of the installation. */
  readonly teamId: string | null;
  readonly at: Date;
}

/** Runs in the transaction of what the mail tells of. */
export async function addMail(
  db: Database,
  secrets: Pick<Secrets, 'seal'>,
  { kind, teamId, ref, token, at }: NewMail,
): Promise<void> {
  const sealed = secrets.seal(placeOf(kind, ref), Buffer.from(token));
  const payload = { ref, sealed, at: at.toISOString() };
  await addJob(db, { teamId, kind, key: ref, lane: `${kind} ${ref}`, payload });
}

interface MailDeps {
  readonly mail: Mail;
  readonly secrets: Pick<Secrets, 'open'>;
}

export function mailJob({ mail, secrets }: MailDeps, of: MailOf): JobKind<MailPayload> {
  return {
    kind: of.kind,
    attempts: ATTEMPTS,
    backoff: doubling(FIRST_WAIT_MS, LONGEST_WAIT_MS),
    concurrency: AT_ONCE,
    perTeam: OF_TEAM,
    timeoutMs: TIMEOUT_MS,
    run: async (job) => {
      const { ref, sealed } = job.payload;
      const token = Buffer.from(secrets.open(placeOf(of.kind, ref), sealed)).toString();
      const letter = await of.letter({ ref, token });
      if (letter === undefined) return;
      await sendOnce(mail, letter, job).catch((error: unknown) => {
        // A server may repeat what it was given.
        const reason = (error instanceof Error ? error.message : String(error)).replaceAll(token, '…');
        throw new JobFailed(reason, { isFinal: error instanceof MailRefused, cause: error });
      });
      await of.sent?.({ ref, token });
    },
    gaveUp: async ({ payload: { ref } }, error) => {
      const why = error instanceof JobFailed && error.isFinal ? error.message : NOT_TAKEN;
      await of.failed?.(ref, why);
    },
  };
}

const NOT_TAKEN = 'the mail server of this installation did not take it for hours';

async function sendOnce(mail: Mail, letter: Letter, job: Job<MailPayload>): Promise<void> {
  const { id, version, payload } = job;
  await mail.send(letter, { id: `${id}.${version}`, at: new Date(payload.at) });
}
