/**
 * A team proves that it controls a domain by a TXT record whose value is made for that team and that domain.
 * One team at a time has a domain verified.
 *
 * pending ──record found──> verified ──another team's record found, and this team's is gone──> pending
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  VerifiedDomainSchema,
  VerifiedDomainsService,
} from '@svc/proto/gen/svc/verifieddomains/v1/verifieddomains_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { createDns } from '../../base/dns.ts';
import { declareFeature, port } from '../../kit/feature.ts';
import { shown } from '../../kit/resource/index.ts';
import { teamsFeature } from '../teams/index.ts';
import { parseDomain } from './domain-name.ts';
import { createProofs, domainRows, type ProofFollower, type Proofs, type VerifiedDomain } from './proofs.ts';
import { verifiedDomains } from './schema.ts';

export { isVerified, ownerOf } from './owner.ts';
export { DNS_ACTOR } from './proofs.ts';
export type { ProofFollower, Proofs } from './proofs.ts';

/** Features above fill it with what follows when the proof of a domain changes. */
export const proofFollowers = port<ProofFollower>('followers of proofs of domains');

export function createVerifiedDomains(proofs: Proofs): Handlers<Ctx> {
  const present = (row: VerifiedDomain) => shown(VerifiedDomainSchema, { ...row, ...proofs.recordOf(row) });
  return implement(VerifiedDomainsService, {
    list: async (_request, ctx: Ctx) => ({
      domains: (await domainRows.list(ctx, { by: verifiedDomains.id, descending: false })).map(present),
    }),
    get: async ({ domainId }, ctx: Ctx) => present(await domainRows.find(ctx, domainId)),
    add: async ({ teamId, domain: text }, ctx: Ctx) => {
      const parsed = parseDomain(text);
      if ('problem' in parsed)
        throw apiError('validation_failed', `domain is "${text}": ${parsed.problem}`, {
          details: { fields: [{ field: 'domain', message: parsed.problem }] },
        });
      return present(await proofs.add(ctx, { teamId, domain: parsed.domain }));
    },
    verify: async ({ domainId }, ctx: Ctx) => present(await proofs.verify(ctx, domainId)),
    remove: async ({ domainId }, ctx: Ctx) => {
      await proofs.remove(ctx, domainId);
      return {};
    },
  });
}

export const verifiedDomainsFeature = declareFeature({
  name: 'verifieddomains',
  on: { teams: teamsFeature },
  reads: ['verified_domains'],
  start: (system) => {
    const { config, secrets } = system;
    const proofs = createProofs({
      secrets,
      dns: createDns({ servers: config.dnsServers }),
      followers: () => system.filled(proofFollowers),
    });
    return { proofs, services: [createVerifiedDomains(proofs)] };
  },
});
