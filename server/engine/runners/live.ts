/** A team's roster and health as they change. All who watch a team share one look. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RunnersEventSchema } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import type { Clock } from '../../base/clock.ts';
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { createWatches, fingerprint, type Watches } from '../../kit/watch.ts';
import type { WorkSettings } from '../work/index.ts';
import { listRunners, toMessage } from './row.ts';
import { teamHealth } from './team-health.ts';

/**
 * Every heartbeat moves a time: when nothing else changed, watchers hear of it this much later at most, for
 * all runners at once.
 */
const CONTACT_EVERY_MS = 10_000;

export interface RosterWatcher {
  readonly sql: SqlTag;
  readonly clock: Clock;
  readonly scope: TeamScope;
  readonly teamId: string;
}

interface RosterState {
  readonly event: MessageInitShape<typeof RunnersEventSchema>;
  /** It is a print of all that it shows besides the times of the last contact. */
  readonly print: string;
  readonly atMs: number;
}

export type RosterWatches = Watches<RosterWatcher, RosterState>;

export function createRosterWatches(settings: WorkSettings): RosterWatches {
  return createWatches(async ([first], before) => {
    if (first === undefined) throw new Error('a look without watchers');
    const { sql, clock, scope, teamId } = first;
    const [rows, health] = await Promise.all([
      listRunners(sql, scope, { teamId }),
      teamHealth({ sql, settings }, scope, teamId),
    ]);
    const runners = rows.map((row) => toMessage(row, clock.now(), settings));
    const lasting = runners.map((runner) => ({
      ...runner,
      lastHeartbeatAt: undefined,
      lastSeenAt: undefined,
    }));
    const print = fingerprint({ lasting, health });
    const position = fingerprint({ runners, health });
    const atMs = clock.monotonicMs();
    const same =
      before !== undefined &&
      before.print === print &&
      (before.event.position === position || atMs - before.atMs < CONTACT_EVERY_MS);
    return same ? before : { event: { position, runners, health }, print, atMs };
  });
}

export async function* eventsOf(states: AsyncIterable<RosterState>): AsyncGenerator<RosterState['event']> {
  for await (const { event } of states) yield event;
}
