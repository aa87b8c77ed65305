/**
 * A domain is proved by the record that a team sets. This file looks the record up, keeps what was found, and
 * tells whatever goes by proofs.
 */
import { and, eq, isNull, lte, or } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import type { Dns, TxtAnswer } from '../../base/dns.ts';
import { encodeCrockford } from '../../base/ids.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { tooMany } from '../../base/rate-limit.ts';
import { change, rowsOf, unlessTaken, type RowOf } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { DOMAIN_CHARS_MAX, recordName, withParents } from './domain-name.ts';
import { nearestOwner, type Owner } from './owner.ts';
import { verifiedDomains } from './schema.ts';

export type VerifiedDomain = RowOf<typeof verifiedDomains>;

export interface TxtRecord {
  readonly recordName: string;
  readonly recordValue: string;
}

export interface Proofs {
  /** Returns the record that proves a domain for a team. */
  recordOf(of: Pick<VerifiedDomain, 'teamId' | 'domain'>): TxtRecord;
  /** Returns the domain that a team is asked to prove for a host name, which may begin with `*.`. */
  domainOf(hostName: string): string;
  add(ctx: Ctx, of: Pick<VerifiedDomain, 'teamId' | 'domain'>): Promise<VerifiedDomain>;
  /** Looks up the record of a domain that the team has. */
  verify(ctx: Ctx, id: string, pauseMs?: number): Promise<VerifiedDomain>;
  /** Looks up the record of a domain, which becomes one that the team has. */
  prove(ctx: Ctx, of: Pick<VerifiedDomain, 'teamId' | 'domain'>, pauseMs: number): Promise<VerifiedDomain>;
  remove(ctx: Ctx, id: string): Promise<void>;
}

/**
 * A follower is called before the proof of a domain changes, in the transaction of the change, and the
 * function that it returns is called after it.
 */
export type ProofFollower = (tx: Ctx, domain: string) => Promise<() => Promise<void>>;

export interface ProofsDeps {
  readonly dns: Dns;
  readonly secrets: Pick<Secrets, 'mac'>;
  readonly followers: () => readonly ProofFollower[];
}

const DOMAINS_MAX = 100;
const PAUSE_MS = 5_000;
export const DNS_ACTOR = {
  kind: 'system',
  id: 'domain_verification',
  display: 'domain verification',
} as const;

export const domainRows = rowsOf(verifiedDomains);
const isStillVerified = eq(verifiedDomains.state, 'verified');
const details = ({ domain }: VerifiedDomain) => ({ domain });

export function createProofs({ dns, secrets, followers }: ProofsDeps): Proofs {
  const valueFor = (teamId: string, domain: string): string => {
    const mac = secrets.mac('domain', `${teamId}\n${domain}`);
    return `svc-domain-verification=${encodeCrockford(mac.subarray(0, 16))}`;
  };
  /** Does what changes the proof of the domain, between the two calls of each follower. */
  const followed = async <T>(tx: Ctx, domain: string, work: () => Promise<T>): Promise<T> => {
    const ends: Array<() => Promise<void>> = [];
    for (const follow of followers()) ends.push(await follow(tx, domain));
    const done = await work();
    for (const end of ends) await end();
    return done;
  };
  const prove = async (ctx: Ctx, { id, domain }: VerifiedDomain, other: Owner | undefined) => {
    const act = { action: 'verified_domain.verified', details };
    return await change(ctx, act, async (tx) =>
      followed(tx, domain, async () => proveNow(tx, { id, domain }, other)),
    );
  };

  const verify = async (ctx: Ctx, id: string, pauseMs = PAUSE_MS): Promise<VerifiedDomain> => {
    const row = await beginLookUp(ctx, id, pauseMs);
    const { teamId, domain, state } = row;
    // Read before the look-up, so that whatever the other team does from then on shows.
    const owner = await nearestOwner(ctx.db, [domain]);
    const answer = await dns.txt(recordName(domain));
    const values = answer.outcome === 'found' ? answer.records.map(unquoted) : [];
    const problem = values.includes(valueFor(teamId, domain)) ? null : problemOf(answer, domain);
    if (problem !== null) return await note(ctx, id, problem);
    if (state === 'verified') {
      const still = await domainRows.update(ctx, id, { set: { lastProblem: null }, where: isStillVerified });
      if (still !== undefined) return still;
    }
    const other = owner === undefined || owner.teamId === teamId ? undefined : owner;
    if (other !== undefined && values.includes(valueFor(other.teamId, domain))) throw await taken(ctx, row);
    try {
      return await prove(ctx, row, other);
    } catch (error) {
      // Another team has proved it, or looked its record up again, while this one's look-up went on.
      throw isUniqueViolation(error, 'verified_domains_owner') ? await taken(ctx, row) : error;
    }
  };
  const add: Proofs['add'] = async (ctx, { teamId, domain }) => {
    const added = change(ctx, { action: 'verified_domain.added', details }, async (tx) => {
      await domainRows.atMost(tx, { teamId, max: DOMAINS_MAX });
      return await domainRows.insert(tx, { teamId, domain });
    });
    const name = { resource: domainRows.kind, field: 'domain', value: domain };
    return await unlessTaken(added, { ...name, index: 'verified_domains_domain' });
  };

  return {
    recordOf: ({ teamId, domain }) => ({
      recordName: recordName(domain),
      recordValue: valueFor(teamId, domain),
    }),
    domainOf: (hostName) =>
      withParents(hostName.replace(/^\*\./, '')).find((name) => name.length <= DOMAIN_CHARS_MAX) ?? hostName,
    add,
    verify,
    prove: async (ctx, { teamId, domain }, pauseMs) => {
      const where = and(eq(verifiedDomains.teamId, teamId), eq(verifiedDomains.domain, domain));
      const [known] = await domainRows.list(ctx, { where });
      const { id } = known ?? (await add(ctx, { teamId, domain }));
      return await verify(ctx, id, pauseMs);
    },
    remove: async (ctx, id) => {
      const { domain } = await domainRows.find(ctx, id);
      await change(ctx, { action: 'verified_domain.removed', details }, async (tx) =>
        followed(tx, domain, async () => domainRows.remove(tx, id)),
      );
    },
  };
}

/** One look-up begins of those that are asked for at once, on any server. */
async function beginLookUp(ctx: Ctx, id: string, pauseMs: number): Promise<VerifiedDomain> {
  const { lastCheckedAt } = await domainRows.find(ctx, id);
  const now = ctx.clock.now();
  const begun = await domainRows.update(ctx, id, {
    set: { lastCheckedAt: now },
    where: or(
      isNull(verifiedDomains.lastCheckedAt),
      lte(verifiedDomains.lastCheckedAt, new Date(now.getTime() - pauseMs)),
    ),
  });
  if (begun !== undefined) return begun;
  const passedMs = now.getTime() - (lastCheckedAt ?? now).getTime();
  throw tooMany(`one look-up in ${pauseMs / 1_000} s for each domain`, pauseMs - (passedMs % pauseMs));
}

async function note(ctx: Ctx, id: string, lastProblem: string): Promise<VerifiedDomain> {
  const row = await domainRows.update(ctx, id, { set: { lastProblem } });
  if (row === undefined) throw notFound(domainRows.kind);
  return row;
}

/** `other` has the domain verified, and its record was not among those that were found. */
async function proveNow(
  tx: Ctx,
  { id, domain }: Pick<VerifiedDomain, 'id' | 'domain'>,
  other: Owner | undefined,
): Promise<VerifiedDomain> {
  const verifiedAt = tx.clock.now();
  const lost = other && (await takeBack(tx, other, domain));
  const proved = await domainRows.update(tx, id, {
    set: { state: 'verified', verifiedAt, lastProblem: null },
  });
  if (proved === undefined) throw notFound(domainRows.kind);
  if (lost !== undefined) {
    const act = { chain: lost.teamId, action: 'verified_domain.lost', target: lost.id, details: { domain } };
    await appendAudit(tx.db, { ...act, actor: DNS_ACTOR, requestId: tx.call.requestId }, verifiedAt);
  }
  return proved;
}

/**
 * Takes the domain from the team that had it, unless that one has looked its record up since, or let go of
 * the domain.
 */
async function takeBack(tx: Ctx, owner: Owner, domain: string): Promise<VerifiedDomain | undefined> {
  const { id, teamId, lastCheckedAt } = owner;
  const lastProblem = `another team has proved the domain while your record was not at ${recordName(domain)}`;
  return await domainRows.update({ ...tx, teams: systemScope(teamId) }, id, {
    set: { state: 'pending', verifiedAt: null, lastProblem },
    where: and(isStillVerified, eq(verifiedDomains.lastCheckedAt, lastCheckedAt)),
  });
}

async function taken(ctx: Ctx, { id, domain }: VerifiedDomain): Promise<Error> {
  const problem = 'another team has verified the domain, and its record is still there';
  await note(ctx, id, problem);
  return apiError('name_taken', `${problem}: remove it from ${recordName(domain)} and verify again`, {
    details: { resource: domainRows.kind, field: 'domain', value: domain },
  });
}

function problemOf(answer: TxtAnswer, domain: string): string {
  const name = recordName(domain);
  if (answer.outcome === 'failed')
    return `the DNS could not be asked for ${name}: ${answer.reason}; try again`;
  if (answer.outcome === 'absent')
    return `there is no TXT record at ${name}; a new one can take some minutes to be seen`;
  return `other values than the expected one are at ${name}: ${answer.records.length} found`;
}

/** Some providers store the quotes that their users type. */
function unquoted(record: string): string {
  return record.replace(/^[\s"]+|[\s"]+$/g, '');
}
