/** A domain is shown with what follows for it from where its environment is and from who has proved it. */
import { DomainSchema, type Domain as Message } from '@svc/proto/gen/svc/domains/v1/domains_pb.ts';
import type { Proofs } from '../../access/verifieddomains/index.ts';
import { shown } from '../../kit/resource/index.ts';
import type { Facts } from './facts.ts';
import type { ObservedCertificate } from './schema.ts';
import { needsProof, standingOf, type Domain } from './standing.ts';

const NOBODY = { owner: null, problem: null };

export function showDomain(
  row: Domain,
  facts: Facts,
  proofs: Pick<Proofs, 'domainOf' | 'recordOf'>,
): Message {
  const proof = facts.proofs[row.id] ?? NOBODY;
  const { id, environmentId, teamId, name, displayName, createdAt, dns, certificate, observedAt } = row;
  return shown(DomainSchema, {
    id,
    environmentId,
    name,
    displayName,
    createdAt,
    dns,
    observedAt,
    ...standingOf(row, facts, proof),
    ssl: facts.sslEnabledAt !== null,
    address: facts.address,
    certificate: certificate && withTimes(certificate),
    ...(needsProof(row, facts, proof) && proofs.recordOf({ teamId, domain: proofs.domainOf(name) })),
  });
}

function withTimes({ nextAttemptAt, notBefore, notAfter, ...certificate }: ObservedCertificate) {
  return {
    ...certificate,
    nextAttemptAt: timeOf(nextAttemptAt),
    notBefore: timeOf(notBefore),
    notAfter: timeOf(notAfter),
  };
}

const timeOf = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(text);
