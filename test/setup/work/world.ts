/**
 * Makes a small world for tests of dispatch: two regions, the service's pool, a customer's team, runners, and
 * short ways to do what is tested.
 */
import { randomBytes } from 'node:crypto';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import { createTestDatabase } from '../database.ts';
import { newId } from '../../../server/base/ids.ts';
import { createPoll } from '../../../server/engine/work/poll.ts';
import { createHeartbeat } from '../../../server/engine/work/heartbeat.ts';
import { createReport, type ReportInput } from '../../../server/engine/work/report.ts';
import { defaultWorkSettings, type WorkSettings } from '../../../server/engine/work/settings.ts';
import { DEFAULT_PLACEMENT, type Placement } from '../../../server/engine/work/routes.ts';
import { createSubmit } from '../../../server/engine/work/submit.ts';

/** The lease that a runner holds on a work item. */
export interface Lease {
  readonly id: string;
  readonly epoch: number;
}

export type World = Awaited<ReturnType<typeof createWorld>>;

export const randomKey = (prefix: string): string => `${prefix}-${randomBytes(8).toString('hex')}`;

export async function createWorld(overrides: Partial<WorkSettings> = {}, max = 10) {
  const { db, url, drop } = await createTestDatabase({ max });
  const settings = { ...defaultWorkSettings, feedServicePool: true, ...overrides };
  const { sql } = db;
  const queue = createLocalQueue();
  const submit = createSubmit({
    sql,
    queue,
    settings,
    onError: (error) => {
      throw error;
    },
  });
  const poll = createPoll(sql, settings);
  const heartbeat = createHeartbeat(sql, settings);
  const report = createReport(sql, settings);
  const userId = newId('user');
  await sql`insert into regions (id, name, operator) values ('reg_service', 'service', 'service'), ('reg_customer', 'customer', 'customer')`;
  const poolTeamId = newId('team');
  await sql`insert into teams (id, name, region_id, service_pool, created_at) values (${poolTeamId}, 'service pool', 'reg_service', true, now())`;

  return {
    db,
    url,
    settings,
    poolTeamId,
    userId,
    /** Queue that submissions are hinted to. */
    queue,
    submitWork: submit,
    team: async (operator: 'customer' | 'service' = 'customer'): Promise<string> => {
      const id = newId('team');
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, 'team', ${`reg_${operator}`}, now())`;
      return id;
    },
    runner: async (
      teamId: string,
      { isolation = 'container', name = randomKey('box') } = {},
    ): Promise<string> => {
      const id = newId('rnr');
      await sql`
        insert into runners (id, team_id, name, key_id, public_key, isolation, enrolled_at)
        values (${id}, ${teamId}, ${name}, ${randomKey('key')}, ${randomBytes(32)}, ${isolation}, now())`;
      return id;
    },
    submit: async (
      teamId: string,
      {
        needsContainer = false,
        timeoutMs = 600_000,
        logLimit = 1_000_000,
        placement = {} as Partial<Placement>,
      } = {},
    ): Promise<string> => {
      const id = newId('run');
      await submit({
        work: {
          id,
          kind: 'run',
          teamId,
          createdBy: userId,
          createdAt: new Date(),
          spec: { command: ['true'] },
          labels: {},
          placement: { ...DEFAULT_PLACEMENT, ...placement },
          needsContainer,
          timeoutMs,
          logLimit,
        },
      });
      return id;
    },
    poll: async (runnerId: string, pollId = randomKey('poll'), kind: 'run' | 'build' = 'run') => {
      const asked = { runnerId, bootId: '', kind, pollId, notReady: [], wantsWork: true };
      return (await poll(asked))?.grant;
    },
    beat: async (runnerId: string, lease: Lease & { readonly phase?: number }) =>
      (await heartbeat({ runnerId, bootId: '', leases: [lease], draining: false }))?.leases[0]?.status,
    /** The run ended with exit code 0, unless `ended` has something else. */
    report: async (runnerId: string, ended: Lease & Partial<ReportInput>) =>
      await report({
        runnerId,
        kind: 'run',
        reportId: 'report-00',
        reason: 'exit',
        exitCode: 0,
        message: undefined,
        durationMs: undefined,
        waitedMs: 0,
        ...ended,
      }),
    /** Ends the lease of an item as far as the clock is concerned. */
    expire: async (id: string): Promise<void> => {
      await sql`update work_leases set expires_at = now() - interval '1 hour' where work_id = ${id} and ended_at is null`;
    },
    item: async (id: string): Promise<Record<string, unknown>> => {
      const [row] = await sql`select * from work_items where id = ${id}`;
      if (row === undefined) throw new Error(`no work item ${id}`);
      return row;
    },
    /** Returns when its open lease ends. */
    leaseOf: async (id: string): Promise<Date | undefined> => {
      const [row] = await sql<Array<{ at: Date }>>`
        select expires_at as at from work_leases where work_id = ${id} and ended_at is null`;
      return row?.at;
    },
    drop,
  };
}
