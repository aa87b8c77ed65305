/**
 * Environments have domains. Rows say what people want; what is served follows from where the environment is
 * and, on the service's machines, from what the team has proved.
 */
import { and, eq, ne } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { parseHostName, type HostName, type HostNameRules } from '@svc/proto/names/host-name.ts';
import { DomainsService, type Domain as Message } from '@svc/proto/gen/svc/domains/v1/domains_pb.ts';
import { proofFollowers, verifiedDomainsFeature, type Proofs } from '../../access/verifieddomains/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { notFound } from '../../kit/not-found.ts';
import { change, refuseMore, rowsOf, unlessTaken } from '../../kit/resource/index.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import {
  environmentRows,
  environmentsFeature,
  type Environment,
  type Guards,
} from '../environments/index.ts';
import { hostChanged, hostingFeature, hostParts } from '../hosting/index.ts';
import { settings } from './domains.settings.ts';
import { holdPlace, poolOf, readFacts, type Facts } from './facts.ts';
import { followProofs } from './followers.ts';
import { domains } from './schema.ts';
import { CERTIFICATE_FAILED, domainsPart } from './serving.ts';
import { showDomain } from './show.ts';
import { edgeAdvice, issuerAdvice, needsProof, type Domain } from './standing.ts';

export type { Place } from './facts.ts';
export { hasEdge } from './serving.ts';
export { edgeAdvice } from './standing.ts';

const OF_ENVIRONMENT_MAX = 50;
const OF_TEAM_MAX = 500;
const PAUSE_MS = 10_000;

const rows = rowsOf(domains);
const details = ({ environmentId, name }: Domain) => ({ environmentId, name });

export interface DomainsDeps {
  readonly guards: Guards;
  readonly proofs: Proofs;
  /** Asked at each call: the address may be known once the door listens. */
  readonly rules: () => HostNameRules;
}

export function createDomains({ guards, proofs, rules }: DomainsDeps): Handlers<Ctx> {
  /** Under the environment's lock, so that limits hold and two calls with one name are one domain. */
  const begin = async (tx: Ctx, { id }: Environment): Promise<Environment> => {
    const locked = await environmentRows.lock(tx, id);
    await guards.refuse(tx, locked, { act: 'changing domains', about: 'content' });
    return locked;
  };
  const showAll = async (ctx: Ctx, environmentId: string): Promise<Message[]> => {
    const where = eq(domains.environmentId, environmentId);
    const [found, facts] = await Promise.all([
      rows.list(ctx, { where, by: domains.name }),
      readFacts(ctx.db, ctx.teams, environmentId),
    ]);
    return found.map((row) => showDomain(row, facts, proofs));
  };
  const showOne = async (ctx: Ctx, row: Domain): Promise<Message> =>
    showDomain(row, await readFacts(ctx.db, ctx.teams, row.environmentId), proofs);
  const setSsl = async (ctx: Ctx, environmentId: string, isOn: boolean): Promise<Message[]> => {
    const environment = await environmentRows.find(ctx, environmentId);
    const { id, name } = environment;
    const action = isOn ? 'environment.ssl_enabled' : 'environment.ssl_disabled';
    await change(ctx, { action, on: environment, details: () => ({ name }) }, async (tx) => {
      const { sslEnabledAt } = await begin(tx, environment);
      if ((sslEnabledAt !== null) === isOn) return undefined;
      if (isOn) refuseWithoutEdge(await readFacts(tx.db, tx.teams, id));
      await hostChanged(tx, id);
      return await environmentRows.update(tx, id, { set: { sslEnabledAt: isOn ? tx.clock.now() : null } });
    });
    return await showAll(ctx, id);
  };

  return implement(DomainsService, {
    list: async ({ environmentId }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      return { domains: await showAll(ctx, id) };
    },
    create: async ({ environmentId, domain }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const name = readName(domain, rules());
      const added = await change(ctx, { action: 'domain.added', details }, async (tx) => {
        await holdPlace(tx.db, tx.teams, environment.id);
        await begin(tx, environment);
        return await add(tx, environment, name);
      });
      // Without an entry in the ledger where it was there already.
      return await showOne(ctx, added ?? (await namedIn(ctx, environment.id, name.ascii)));
    },
    delete: async ({ environmentId, domainId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const { id } = await rowIn(ctx, environment, domainId);
      await change(ctx, { action: 'domain.removed', details }, async (tx) => {
        await begin(tx, environment);
        await hostChanged(tx, environment.id);
        return await rows.remove(tx, id);
      });
      return {};
    },
    enableSsl: async ({ environmentId }, ctx: Ctx) => ({ domains: await setSsl(ctx, environmentId, true) }),
    disableSsl: async ({ environmentId }, ctx: Ctx) => ({ domains: await setSsl(ctx, environmentId, false) }),
    verify: async ({ environmentId, domainId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const row = await rowIn(ctx, environment, domainId);
      await ctx.db.transact(async (db) => begin({ ...ctx, db }, environment));
      const facts = await readFacts(ctx.db, ctx.teams, environment.id);
      const proof = facts.proofs[row.id];
      if (proof === undefined || !needsProof(row, facts, proof)) return showDomain(row, facts, proofs);
      await proofs.prove(ctx, { teamId: row.teamId, domain: proofs.domainOf(row.name) }, PAUSE_MS);
      return await showOne(ctx, row);
    },
  });
}

function readName(text: string, rules: HostNameRules): HostName {
  const parsed = parseHostName(text, rules);
  if ('ascii' in parsed) return parsed;
  const { problem } = parsed;
  throw wrongField(`domain is ${JSON.stringify(text)}: ${problem}`, { field: 'domain', rule: 'host_name' });
}

async function rowIn(ctx: Ctx, { id }: Environment, domainId: string): Promise<Domain> {
  const row = await rows.find(ctx, domainId);
  if (row.environmentId !== id) throw notFound(rows.kind);
  return row;
}

async function namedIn(ctx: Ctx, environmentId: string, name: string): Promise<Domain> {
  const [row] = await rows.list(ctx, {
    where: and(eq(domains.environmentId, environmentId), eq(domains.name, name)),
  });
  if (row === undefined) throw notFound(rows.kind);
  return row;
}

/** Returns undefined where the domain is there already, and where it should be. */
async function add(
  tx: Ctx,
  { id: environmentId, teamId }: Environment,
  { ascii, unicode }: HostName,
): Promise<Domain | undefined> {
  const poolKey = poolOf(await readFacts(tx.db, tx.teams, environmentId));
  const all = await rows.list(tx, { where: eq(domains.environmentId, environmentId) });
  const known = all.find(({ name }) => name === ascii);
  if (known?.poolKey === poolKey) return undefined;
  const taken = { index: 'domains_pool', resource: rows.kind, field: 'domain', value: ascii };
  if (known === undefined) {
    const limit = { teamId, max: OF_ENVIRONMENT_MAX, of: 'environment', current: all.length };
    refuseMore(domains, limit);
    await rows.atMost(tx, { teamId, max: OF_TEAM_MAX });
  }
  if (poolKey === '') await refuseWaiting(tx, teamId, { name: ascii, environmentId });
  await hostChanged(tx, environmentId);
  // Another environment had the name on the machine when this one came there.
  if (known !== undefined) return await unlessTaken(rows.update(tx, known.id, { set: { poolKey } }), taken);
  const row = { teamId, environmentId, name: ascii, displayName: unicode, poolKey };
  return await unlessTaken(rows.insert(tx, row), taken);
}

/** A name belongs to one of the environments that are on no machine yet. */
async function refuseWaiting(
  tx: Ctx,
  teamId: string,
  { name, environmentId }: Pick<Domain, 'name' | 'environmentId'>,
): Promise<void> {
  const [other] = await rows.list(tx, {
    where: and(
      eq(domains.teamId, teamId),
      eq(domains.name, name),
      eq(domains.poolKey, ''),
      ne(domains.environmentId, environmentId),
    ),
  });
  if (other === undefined) return;
  throw apiError('name_taken', `another environment of the team has the domain "${name}" already`, {
    details: { resource: rows.kind, field: 'domain', value: name },
  });
}

function refuseWithoutEdge(facts: Facts): void {
  const { target, runnerId, hasEdge, hasIssuer } = facts;
  if (runnerId === null && target === null)
    throw apiError(
      'environment_incomplete',
      'the environment has no deploy target, its domains are served by nobody; set one with environments.update',
    );
  if (runnerId === null || (hasEdge && hasIssuer)) return;
  const why = hasEdge ? issuerAdvice(facts) : edgeAdvice(facts);
  throw apiError('edge_unavailable', `domains cannot be served by HTTPS: ${why}`, {
    details: { resource: hasEdge ? 'certificates' : 'edge', runnerId },
  });
}

export const domainsFeature = declareFeature({
  name: 'domains',
  on: {
    environments: environmentsFeature,
    hosting: hostingFeature,
    builds: buildsFeature,
    verifiedDomains: verifiedDomainsFeature,
  },
  settings,
  events: {
    [CERTIFICATE_FAILED]: {
      when: 'A certificate of a domain cannot be got for the third time, or its renewal fails in its last 7 days.',
      scope: 'project:read',
      notifies: true,
      delivered: true,
    },
  },
  start: (system, { environments: { guards }, verifiedDomains: { proofs } }, { allowTestDomains }) => {
    const reserved = () => system.publicUrls().map((url) => new URL(url).hostname);
    const rules = () => ({ allowTestDomains, reserved: reserved() });
    return {
      services: [createDomains({ guards, proofs, rules })],
      fills: [fill(hostParts, domainsPart), fill(proofFollowers, followProofs)],
    };
  },
});
