/** What happens to a team's work when its region changes or the team goes: teams decide, dispatch acts. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { ControlEvent, WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Database } from '../../base/db/index.ts';
import type { TeamWork } from '../../access/teams/index.ts';
import { cancel } from './cancel.ts';
import { openItems, rerouteTeam } from './pool.ts';
import { revokeRunner } from './revoke.ts';
import type { WorkSettings } from './settings.ts';

export interface TeamWorkDeps {
  readonly queue: WorkQueue;
  readonly settings: WorkSettings;
  wakeRelay(): void;
  onError(error: unknown): void;
}

/** Cancels items within the transaction; those who hold one are told after it. */
export async function cancelEach(
  { queue, onError }: Pick<TeamWorkDeps, 'queue' | 'onError'>,
  db: Database,
  { teamId, ids }: { readonly teamId: string; readonly ids: readonly string[] },
): Promise<void> {
  for (const id of ids) {
    const { notifyRunner = false, runnerId = null } = (await cancel(db.sql, [teamId], id)) ?? {};
    if (!notifyRunner || runnerId === null) continue;
    db.afterCommit(() => {
      queue.publishControl({ type: 'work_cancelled', workId: id, runnerId }).catch(onError);
    });
  }
}

export function createTeamWork({ queue, settings, wakeRelay, onError }: TeamWorkDeps): TeamWork {
  const publish = (db: Database, event: ControlEvent): void =>
    db.afterCommit(() => {
      queue.publishControl(event).catch(onError);
    });
  return {
    reroute: async (db, team) => {
      if ((await rerouteTeam(db.sql, team.id)) > 0) db.afterCommit(wakeRelay);
    },
    close: async (db, teamId) => {
      const runners = await db.sql<
        Array<{ id: string }>
      >`select id from runners where team_id = ${teamId} and revoked_at is null`;
      for (const { id } of runners) {
        const revoked = await revokeRunner(db.sql, settings, { teamId, runnerId: id });
        if (revoked?.now === true)
          publish(db, { type: 'runner_revoked', runnerId: revoked.runnerId, keyId: revoked.keyId });
      }
      const open = await db.sql<Array<{ id: string }>>`${openItems(db.sql, teamId)}`;
      await cancelEach({ queue, onError }, db, { teamId, ids: open.map(({ id }) => id) });
    },
  };
}
