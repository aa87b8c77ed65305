/**
 * Ways to write the server wrongly, each planted into its source while it is bundled, and one to run it
 * wrongly. Each is a mistake that a careful person makes, works without faults, and must be found by the
 * checker; the sound server must pass under the same load and faults.
 */
import type { Replacement } from './bundles.ts';
import type { Violation } from './findings.ts';
import type { Verdict } from './scenario.ts';

export const MUTANT_NAMES = [
  'no-epoch-check',
  'early-ack',
  'scan-then-update',
  'shared-connection',
  'asynchronous-standby',
  'no-generation',
] as const;
export type MutantName = (typeof MUTANT_NAMES)[number];

export interface Mutant {
  readonly name: MutantName;
  readonly what: string;
  readonly replacements: readonly Replacement[];
  /** The damage that this mistake does; anything else that is found does not count as having caught it. */
  readonly shows: (violation: Violation, verdict: Verdict) => boolean;
}

/** Returns what was found of the damage that a mutant does. */
export function damageOf(name: MutantName, verdict: Verdict): readonly Violation[] {
  return verdict.violations.filter((violation) => MUTANTS[name].shows(violation, verdict));
}

/** A call of an older grant counts, as long as the item is with the same runner (again). */
const noEpochCheck: Mutant = {
  name: 'no-epoch-check',
  what: 'heartbeats, output and reports do not name their epoch in SQL',
  shows: ({ invariant }) => invariant === 'I6',
  replacements: [
    {
      // Reports and heartbeats share this lookup.
      file: 'server/engine/work/sql.ts',
      find: 'x.epoch = a.epoch and x.runner_id = a.runner_id',
      replace: 'x.runner_id = a.runner_id',
    },
    {
      file: 'server/engine/work/append-logs.ts',
      find: 'x.epoch = a.epoch and x.runner_id = a.runner_id',
      replace: 'x.ended_at is null and x.runner_id = a.runner_id',
    },
  ],
};

/**
 * The item counts as delivered before it is granted: it leaves the queue first, so that no other hint or poll
 * looks at it, and is granted by the next statement. Whatever stops the server, the statement or the grant in
 * between loses the item for ever: neither the relay nor a poll nor the sweeper sees it again.
 */
const DELIVERED_EARLY_MS = 150;
const earlyAck: Mutant = {
  name: 'early-ack',
  what: 'an item leaves the queue before it is granted',
  // The work is not merely late: nothing goes on any more, and it is still there.
  shows: ({ message }, { rest }) => rest.how === 'stuck' && message === 'has not ended: it is queued',
  replacements: [
    {
      file: 'server/engine/work/poll.ts',
      find: '  const columns = ({ runnerId, bootId, pollId',
      replace: `  const willing = inputs.filter(({ wantsWork }) => wantsWork);
  const taken = await sql\`
    update work_items set run_after = 'infinity' where id in (
      select p.id from runners r cross join lateral (
        select w.id from work_items w
        where w.pool_id = r.team_id and w.kind = \${kind} and w.state = 'queued' and w.run_after <= clock_timestamp()
        order by w.priority desc nulls last, w.id limit 1 for update skip locked) p
      where r.id = any(\${willing.map(({ runnerId }) => runnerId)}::text[]))
    returning id\`;
  if (taken.length > 0) await new Promise((resolve) => setTimeout(resolve, ${DELIVERED_EARLY_MS}));
  globalThis.deliveredEarly = taken.map(({ id }) => id);
  const columns = ({ runnerId, bootId, pollId`,
    },
    {
      file: 'server/engine/work/claims.ts',
      find: 'return sql`w.run_after <= clock_timestamp() and',
      replace: 'return sql`w.id = any(${globalThis.deliveredEarly}::text[]) and',
    },
  ],
};

const SWEEP = `export async function sweep(
  sql: SqlTag,
  settings: WorkSettings,
  only: readonly string[] | null = null,
): Promise<readonly Swept[]> {
`;

/**
 * What is found expired is taken away by a second statement, which does not look again whether it was
 * renewed, reported or granted anew meanwhile.
 */
const scanThenUpdate: Mutant = {
  name: 'scan-then-update',
  what: 'the sweeper finds and changes in two statements',
  shows: ({ invariant }) => invariant === 'I3' || invariant === 'I4',
  replacements: [
    {
      file: 'server/engine/work/sweeper.ts',
      find: SWEEP,
      replace: `${SWEEP}  const found = await sql\`
    select w.id from work_items w
    join work_leases x on x.work_id = w.id
    where x.ended_at is null and x.expires_at < now() - \${ms(sql, settings.graceMs)}
    order by x.expires_at limit \${settings.batch}::int\`;
  if (found.length > 0) await new Promise((resolve) => setTimeout(resolve, 150));
`,
    },
    {
      file: 'server/engine/work/sweeper.ts',
      find: `        where \${hasEnded(sql, settings)} \${only === null ? sql\`\` : sql\`and x.work_id = any(\${only}::text[])\`}
        order by x.expires_at limit \${settings.batch}::int
        for update of x, w skip locked\`,`,
      replace:
        '        where w.id = any(${found.map(({ id }) => id)}::text[]) and x.epoch = w.epoch order by w.id for update of w`,',
    },
  ],
};

/**
 * What is acknowledged inside of somebody else's transaction is gone when that one rolls back or loses its
 * connection.
 */
const sharedConnection: Mutant = {
  name: 'shared-connection',
  what: 'statements are sent on a connection that a transaction has',
  shows: ({ message }) => message.endsWith('was acknowledged and is not there'),
  replacements: [
    {
      file: 'server/base/db/pool.ts',
      find: '      if (member.whenLost !== undefined) continue;\n',
      replace: '',
    },
  ],
};

/**
 * The server is sound, and its operator lets commits be acknowledged before the standby has them: a promotion
 * loses some.
 */
const asynchronousStandby: Mutant = {
  name: 'asynchronous-standby',
  what: 'commits do not wait for the standby',
  shows: ({ message }) => message.endsWith('was acknowledged and is not there'),
  replacements: [],
};

/**
 * What such a promotion loses of grants is granted again, to somebody else and under the same epoch: neither
 * can be told from the other.
 */
const noGeneration: Mutant = {
  name: 'no-generation',
  what: 'an epoch is one more than the last, whatever history the database is on',
  shows: ({ invariant, message }) =>
    invariant === 'I4' && message.startsWith('was executed twice under epoch'),
  replacements: [
    {
      file: 'server/base/db/generation.ts',
      find: 'return sql`greatest(${epoch} + 1, (select g.generation * 65536 + 1 from database_generation g where g.one = 1))`;',
      replace: 'return sql`${epoch} + 1`;',
    },
  ],
};

export const MUTANTS: Readonly<Record<MutantName, Mutant>> = {
  'no-epoch-check': noEpochCheck,
  'early-ack': earlyAck,
  'scan-then-update': scanThenUpdate,
  'shared-connection': sharedConnection,
  'asynchronous-standby': asynchronousStandby,
  'no-generation': noGeneration,
};
