/**
 * Invitations are mailed here. Whoever makes one never sees its token, so that who uses it reads the mails
 * of the address. The bounds keep a team from being a means to flood the mailboxes of others; each process
 * counts by itself.
 */
// No TeamScope: memberships and invitations, which a TeamScope is made of.
import type { Clock } from '../../base/clock.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { createRateLimiter, tooMany } from '../../base/rate-limit.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import type { System } from '../../kit/feature.ts';
import type { JobKind } from '../../kit/jobs/index.ts';
import { addMail, mailJob, named, type Letter, type MailRef } from '../../kit/mail/index.ts';
import { hashToken } from '../accounts/index.ts';
import type { MadeInvite } from './invites.ts';

const KIND = 'invite_mail';
const HOUR_MS = 3_600_000;
const OF_CALLER = 100;
const TO_ADDRESS = 5;

export interface InviteMails {
  /** Runs in the transaction of the invitation. Throws `rate_limited`. */
  add(tx: Ctx, made: MadeInvite): Promise<void>;
}

export function createInviteMails(clock: Clock, secrets: Pick<Secrets, 'seal'>): InviteMails {
  const limiter = (count: number) => createRateLimiter({ count, windowMs: HOUR_MS }, clock);
  const [callers, addresses] = [limiter(OF_CALLER), limiter(TO_ADDRESS)];
  return {
    add: async ({ db, caller }, { id, teamId, email, token, createdAt }) => {
      const own = callers.take(caller.userId);
      if (!own.allowed) throw tooMany(`${OF_CALLER} mailed invitations within an hour`, own.resetMs);
      const to = addresses.take(email);
      if (!to.allowed) throw tooMany(`${TO_ADDRESS} invitations to ${email} within an hour`, to.resetMs);
      await addMail(db, secrets, { kind: KIND, teamId, ref: id, token, at: createdAt });
    },
  };
}

type Parts = Pick<System, 'secrets' | 'publicUrl' | 'clock' | 'db'> & Pick<Required<System>, 'mail'>;

/** None where nothing is mailed. */
export function inviteMailJobs({ mail, secrets, db: { sql }, clock, publicUrl }: Parts): readonly JobKind[] {
  if (mail === undefined) return [];
  const job = mailJob(
    { mail, secrets },
    {
      kind: KIND,
      letter: async (which) => {
        const open = await openInvite(sql, which, clock.now());
        return open && letterOf(open, `${publicUrl()}/console/accept-invite#token=${which.token}`);
      },
      sent: async ({ ref, token }) => {
        await sql`
          update team_invites set mail = 'sent', mail_problem = null where id = ${ref} and token_hash = ${hashToken(token)}`;
      },
      failed: async (ref, reason) => {
        await sql`update team_invites set mail = 'failed', mail_problem = ${reason} where id = ${ref}`;
      },
    },
  );
  return [job];
}

interface OpenInvite {
  readonly email: string;
  readonly role: string;
  readonly expiresAt: Date;
  readonly team: string;
  readonly inviter: string;
}

/** It may have been taken back, replaced or used since. */
async function openInvite(sql: SqlTag, { ref, token }: MailRef, now: Date): Promise<OpenInvite | undefined> {
  const [row] = await sql<OpenInvite[]>`
    select i.email, i.role, i.expires_at as "expiresAt", t.name as team, u.username as inviter
    from team_invites i join teams t on t.id = i.team_id join users u on u.id = i.invited_by
    where i.id = ${ref} and i.token_hash = ${hashToken(token)} and i.accepted_at is null and i.expires_at > ${now}`;
  return row;
}

function letterOf({ email, role, expiresAt, team, inviter }: OpenInvite, url: string): Letter {
  const name = named(team, 'a team');
  return {
    to: email,
    subject: `You are invited to ${name}`,
    paragraphs: [`${inviter} invites you to ${name}, with the role ${role}.`],
    link: { label: 'Accept the invitation', url },
    after: [
      `The link is for you alone. It works once, until ${expiresAt.toUTCString()}.`,
      'If you do not expect this invitation, ignore this mail: nothing happens then.',
    ],
  };
}
