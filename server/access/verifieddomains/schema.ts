import { sql } from 'drizzle-orm';
import { check, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  VerifiedDomainState,
  VerifiedDomainStateSchema,
} from '@svc/proto/gen/svc/verifieddomains/v1/verifieddomains_pb.ts';
import { instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export const verifiedDomains = teamTable(
  { name: 'verified_domains', kind: 'verified domain', prefix: 'vdm' },
  {
    /** As `parseDomain` gives it. */
    domain: text('domain').notNull(),
    state: enumColumn('state', VerifiedDomainState, VerifiedDomainStateSchema).notNull().default('pending'),
    verifiedAt: instant('verified_at'),
    /** The last look-up began at this time. */
    lastCheckedAt: instant('last_checked_at'),
    lastProblem: text('last_problem'),
  },
  (t) => [
    uniqueIndex('verified_domains_domain').on(t.teamId, t.domain),
    uniqueIndex('verified_domains_owner')
      .on(t.domain)
      .where(sql`${t.state} = 'verified'`),
    check(
      'verified_domains_verified',
      sql`(${t.state} = 'verified') = (${t.verifiedAt} is not null) and (${t.verifiedAt} is null or ${t.lastCheckedAt} is not null)`,
    ),
  ],
);
