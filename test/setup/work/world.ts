/** A small world for tests of dispatch: two regions, the service's pool, a customer's team, runners, and short ways to do what is tested. */
import { randomBytes } from 'node:crypto';
import { createTestDatabase } from '../database.ts';
import type { Database } from '../../../server/platform/db/index.ts';
import { newId } from '../../../server/platform/ids.ts';
import { beginPoll } from '../../../server/engine/work/claim.ts';
import type { Grant } from '../../../server/engine/work/claim.ts';
import { heartbeat } from '../../../server/engine/work/heartbeat.ts';
import type { LeaseStatus } from '../../../server/engine/work/heartbeat.ts';
import { report } from '../../../server/engine/work/report.ts';
import type { ReportInput } from '../../../server/engine/work/report.ts';
import { defaultWorkSettings } from '../../../server/engine/work/settings.ts';
import type { WorkSettings } from '../../../server/engine/work/settings.ts';
import { createQueueRoom } from '../../../server/engine/work/queue-room.ts';
import { submit } from '../../../server/engine/work/submit.ts';

/** The lease that a runner holds on a work item. */
export interface Lease {
  readonly id: string;
  readonly epoch: number;
}

export interface World {
  readonly db: Database;
  readonly url: string;
  readonly settings: WorkSettings;
  readonly poolTeamId: string;
  readonly userId: string;
  team(operator?: 'customer' | 'service'): Promise<string>;
  runner(teamId: string, columns?: { isolation?: string; name?: string }): Promise<string>;
  submit(
    teamId: string,
    options?: { needsContainer?: boolean; timeoutMs?: number; logLimit?: number },
  ): Promise<string>;
  poll(runnerId: string, pollId?: string): Promise<Grant | undefined>;
  beat(runnerId: string, lease: Lease): Promise<LeaseStatus | undefined>;
  /** The run ended with exit code 0, unless `report` has something else. */
  report(runnerId: string, report: Lease & Partial<ReportInput>): Promise<{ repeated: boolean }>;
  /** Ends the lease of an item as far as the clock is concerned. */
  expire(id: string): Promise<void>;
  item(id: string): Promise<Record<string, unknown>>;
  drop(): Promise<void>;
}

export const randomKey = (prefix: string): string => `${prefix}-${randomBytes(8).toString('hex')}`;

export async function createWorld(overrides: Partial<WorkSettings> = {}, max = 10): Promise<World> {
  const { db, url, drop } = await createTestDatabase({ max });
  const settings = { ...defaultWorkSettings, feedServicePool: true, ...overrides };
  const room = createQueueRoom(() => performance.now());
  const { sql } = db;
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
    team: async (operator = 'customer') => {
      const id = newId('team');
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, 'team', ${`reg_${operator}`}, now())`;
      return id;
    },
    runner: async (teamId, { isolation = 'container', name = randomKey('box') } = {}) => {
      const id = newId('rnr');
      await sql`
        insert into runners (id, team_id, name, key_id, public_key, isolation, enrolled_at)
        values (${id}, ${teamId}, ${name}, ${randomKey('key')}, ${randomBytes(32)}, ${isolation}, now())`;
      return id;
    },
    submit: async (teamId, { needsContainer = false, timeoutMs = 600_000, logLimit = 1_000_000 } = {}) => {
      const id = newId('run');
      await submit(
        sql,
        { settings, room },
        {
          work: {
            id,
            kind: 'run',
            teamId,
            createdBy: userId,
            createdAt: new Date(),
            spec: { command: ['true'] },
            labels: {},
            needsContainer,
            timeoutMs,
            logLimit,
          },
        },
      );
      return id;
    },
    poll: async (runnerId, pollId = randomKey('poll')) =>
      (
        await beginPoll(sql, settings, {
          runnerId,
          bootId: '',
          kind: 'run',
          pollId,
          notReady: [],
          wantsWork: true,
        })
      )?.grant,
    beat: async (runnerId, lease) =>
      (await heartbeat(sql, settings, { runnerId, bootId: '', leases: [lease], draining: false }))?.leases[0]
        ?.status,
    report: async (runnerId, ended) =>
      await report(sql, settings, {
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
    expire: async (id) => {
      await sql`update work_items set lease_expires_at = now() - interval '1 hour' where id = ${id} and lease_id is not null`;
    },
    item: async (id) => {
      const [row] = await sql`select * from work_items where id = ${id}`;
      if (row === undefined) throw new Error(`no work item ${id}`);
      return row;
    },
    drop,
  };
}
