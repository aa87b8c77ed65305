import { sql } from 'drizzle-orm';
import { index, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { environments } from '../environments/schema.ts';
import { id, instant } from '../../base/db/columns.ts';
import { teamTable } from '../../kit/resource/team-table.ts';

/** Addresses of a name, as its runner found them; words are those of the contract. */
export interface ObservedDns {
  readonly state: string;
  readonly expected: readonly string[];
  readonly seen: readonly string[];
}

/** Certificate of a name, as its runner has it. Times are in RFC 3339. */
export interface ObservedCertificate {
  readonly state: string;
  /** Sentence that says what helps. */
  readonly problem?: string;
  readonly nextAttemptAt?: string;
  readonly notBefore?: string;
  readonly notAfter?: string;
  readonly issuer?: string;
  readonly serial?: string;
}

export const domains = teamTable(
  { name: 'domains', kind: 'domain', prefix: 'dom', within: { environmentId: environments } },
  {
    environmentId: id('environment_id').notNull(),
    /** ASCII, as `parseHostName` gives it. */
    name: text('name').notNull(),
    /** Unicode. */
    displayName: text('display_name').notNull(),
    /**
     * Machines that one name leads to: `service`, or the id of the team's runner. Empty before the
     * environment is on one, and where another environment has the name there. A trigger keeps it with
     * `host_apps`.
     */
    poolKey: text('pool_key').notNull(),
    dns: jsonb('dns').$type<ObservedDns>(),
    certificate: jsonb('certificate').$type<ObservedCertificate>(),
    /** Begin of the episode in which no certificate is got, which people were told of; null: all is well. */
    certificateFailingSince: instant('certificate_failing_since'),
    /** Time at which the runner said the two. */
    observedAt: instant('observed_at'),
  },
  (t) => [
    uniqueIndex('domains_of_environment').on(t.environmentId, t.name),
    // A runner is one team's. In the service's pool a name may be that of several teams, of which one at a
    // time has proved it.
    uniqueIndex('domains_pool')
      .on(t.teamId, t.poolKey, t.name)
      .where(sql`${t.poolKey} <> ''`),
    // Names below a domain, whose proof has changed, stand together.
    index('domains_backwards').on(sql`reverse(${t.name}) collate "C"`),
  ],
);
