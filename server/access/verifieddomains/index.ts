/**
 * A team proves that it controls a domain by a TXT record whose value is made for that team and that domain.
 * One team at a time has a domain verified.
 *
 * pending ──record found──> verified ──another team's record found, and this team's is gone──> pending
 */
import { and, eq, isNull, lte, or } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  VerifiedDomainSchema,
  VerifiedDomainsService,
} from '@svc/proto/gen/svc/verifieddomains/v1/verifieddomains_pb.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { isUniqueViolation } from '../../base/db/index.ts';
import { createDns, type Dns, type TxtAnswer } from '../../base/dns.ts';
import { declareFeature } from '../../kit/feature.ts';
import { teamsFeature } from '../teams/index.ts';
import { encodeCrockford } from '../../base/ids.ts';
import { appendAudit } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import { tooMany } from '../../base/rate-limit.ts';
import { change, rowsOf, shown, unlessTaken, type RowOf } from '../../kit/resource/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { parseDomain, recordName } from './domain-name.ts';
import { nearestOwner, type Owner } from './owner.ts';
import { verifiedDomains } from './schema.ts';

export { isVerified } from './owner.ts';

type Domain = RowOf<typeof verifiedDomains>;

export interface VerifiedDomainsDeps {
  readonly dns: Dns;
  readonly secrets: Pick<Secrets, 'mac'>;
}

const DOMAINS_MAX = 100;
const PAUSE_MS = 5_000;
const DNS_ACTOR = { kind: 'system', id: 'domain_verification', display: 'domain verification' } as const;

const rows = rowsOf(verifiedDomains);
const isStillVerified = eq(verifiedDomains.state, 'verified');
const details = ({ domain }: Domain) => ({ domain });

export function createVerifiedDomains({ dns, secrets }: VerifiedDomainsDeps): Handlers<Ctx> {
  const valueFor = (teamId: string, domain: string): string => {
    const mac = secrets.mac('domain', `${teamId}\n${domain}`);
    return `svc-domain-verification=${encodeCrockford(mac.subarray(0, 16))}`;
  };
  const present = (row: Domain) =>
    shown(VerifiedDomainSchema, {
      ...row,
      recordName: recordName(row.domain),
      recordValue: valueFor(row.teamId, row.domain),
    });

  const verify = async (ctx: Ctx, id: string): Promise<Domain> => {
    const row = await beginLookUp(ctx, id);
    const { teamId, domain, state } = row;
    // Read before the look-up, so that whatever the other team does from then on shows.
    const owner = await nearestOwner(ctx.db, [domain]);
    const answer = await dns.txt(recordName(domain));
    const values = answer.outcome === 'found' ? answer.records.map(unquoted) : [];
    const problem = values.includes(valueFor(teamId, domain)) ? null : problemOf(answer, domain);
    if (problem !== null) return await note(ctx, id, problem);
    if (state === 'verified') {
      const still = await rows.update(ctx, id, { set: { lastProblem: null }, where: isStillVerified });
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

  return implement(VerifiedDomainsService, {
    list: async (_request, ctx: Ctx) => ({
      domains: (await rows.list(ctx, { by: verifiedDomains.id, descending: false })).map(present),
    }),
    get: async ({ domainId }, ctx: Ctx) => present(await rows.find(ctx, domainId)),
    add: async ({ teamId, domain: text }, ctx: Ctx) => {
      const parsed = parseDomain(text);
      if ('problem' in parsed)
        throw apiError('validation_failed', `domain is "${text}": ${parsed.problem}`, {
          details: { fields: [{ field: 'domain', message: parsed.problem }] },
        });
      const { domain } = parsed;
      const added = change(ctx, { action: 'verified_domain.added', details }, async (tx) => {
        await rows.atMost(tx, { teamId, max: DOMAINS_MAX });
        return await rows.insert(tx, { teamId, domain });
      });
      const name = { resource: rows.kind, field: 'domain', value: domain };
      return present(await unlessTaken(added, { ...name, index: 'verified_domains_domain' }));
    },
    verify: async ({ domainId }, ctx: Ctx) => present(await verify(ctx, domainId)),
    remove: async ({ domainId }, ctx: Ctx) => {
      await rows.find(ctx, domainId);
      await change(ctx, { action: 'verified_domain.removed', details }, async (tx) =>
        rows.remove(tx, domainId),
      );
      return {};
    },
  });
}

/** One look-up begins of those that are asked for at once, on any server. */
async function beginLookUp(ctx: Ctx, id: string): Promise<Domain> {
  const { lastCheckedAt } = await rows.find(ctx, id);
  const now = ctx.clock.now();
  const begun = await rows.update(ctx, id, {
    set: { lastCheckedAt: now },
    where: or(
      isNull(verifiedDomains.lastCheckedAt),
      lte(verifiedDomains.lastCheckedAt, new Date(now.getTime() - PAUSE_MS)),
    ),
  });
  if (begun !== undefined) return begun;
  const passedMs = now.getTime() - (lastCheckedAt ?? now).getTime();
  throw tooMany(`one look-up in ${PAUSE_MS / 1_000} s for each domain`, PAUSE_MS - (passedMs % PAUSE_MS));
}

async function note(ctx: Ctx, id: string, lastProblem: string): Promise<Domain> {
  const row = await rows.update(ctx, id, { set: { lastProblem } });
  if (row === undefined) throw notFound(rows.kind);
  return row;
}

/** `other` has the domain verified, and its record was not among those that were found. */
async function prove(ctx: Ctx, { id, domain }: Domain, other: Owner | undefined): Promise<Domain> {
  const verifiedAt = ctx.clock.now();
  return await change(ctx, { action: 'verified_domain.verified', details }, async (tx) => {
    const lost = other && (await takeBack(tx, other, domain));
    const proved = await rows.update(tx, id, { set: { state: 'verified', verifiedAt, lastProblem: null } });
    if (proved === undefined) throw notFound(rows.kind);
    if (lost !== undefined) {
      const act = {
        chain: lost.teamId,
        action: 'verified_domain.lost',
        target: lost.id,
        details: { domain },
      };
      await appendAudit(tx.db, { ...act, actor: DNS_ACTOR, requestId: tx.call.requestId }, verifiedAt);
    }
    return proved;
  });
}

/**
 * Takes the domain from the team that had it, unless that one has looked its record up since, or let go of
 * the domain.
 */
async function takeBack(tx: Ctx, owner: Owner, domain: string): Promise<Domain | undefined> {
  const { id, teamId, lastCheckedAt } = owner;
  const lastProblem = `another team has proved the domain while your record was not at ${recordName(domain)}`;
  return await rows.update({ ...tx, teams: systemScope(teamId) }, id, {
    set: { state: 'pending', verifiedAt: null, lastProblem },
    where: and(isStillVerified, eq(verifiedDomains.lastCheckedAt, lastCheckedAt)),
  });
}

async function taken(ctx: Ctx, { id, domain }: Domain): Promise<Error> {
  const problem = 'another team has verified the domain, and its record is still there';
  await note(ctx, id, problem);
  return apiError('name_taken', `${problem}: remove it from ${recordName(domain)} and verify again`, {
    details: { resource: rows.kind, field: 'domain', value: domain },
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

export const verifiedDomainsFeature = declareFeature({
  name: 'verifieddomains',
  on: { teams: teamsFeature },
  start: ({ config, secrets }) => ({
    services: [createVerifiedDomains({ secrets, dns: createDns({ servers: config.dnsServers }) })],
  }),
});
