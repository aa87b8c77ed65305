/** Reads one team's runners together with their health, so that banner and roster tell the same story. */
import { Runners, type Runner, type RunnersEvent, type TeamHealth } from '@svc/sdk';
import { client, ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import type { LastGood } from '../../last-good.ts';
import type { LiveStatus } from '../../live.ts';
import { useLiveState } from '../../use-live-state.ts';

export const runners = new Runners(client);

export interface Roster {
  readonly runners: readonly Runner[];
  readonly health: TeamHealth;
}

/** `absent`: there is no such team, or no such page. */
export type RosterAnswer = Roster | 'absent';

export const useRoster = (teamId: string): LastGood<RosterAnswer> =>
  useRead(
    `runners ${teamId}`,
    async () =>
      await ifMissing('absent' as const, async () => {
        const [list, health] = await Promise.all([runners.list(teamId), runners.health(teamId)]);
        return { runners: list, health };
      }),
  );

/** Follows what the server tells of them. */
export const useLiveRoster = (teamId: string, { replace, load }: LastGood<RosterAnswer>): LiveStatus =>
  useLiveState<RunnersEvent>({
    open: (ending) => runners.watch(teamId, { signal: ending, maxRetries: 0 }),
    onState: ({ runners: list, health }) => replace({ runners: list, health }),
    ask: load,
  });
