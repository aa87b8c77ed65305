/** Reads one team's runners together with their health, so that banner and roster tell the same story. */
import { signal } from '@preact/signals';
import type { Runner, RunnersEvent, Team, TeamHealth } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import type { LastGood } from '../../last-good.ts';
import type { StateSource } from '../../live.ts';
import { onForget } from '../../session.ts';
import { runners } from './calls.ts';

export interface Roster {
  readonly runners: readonly Runner[];
  readonly health: TeamHealth;
}

/** `absent`: there is no such team, or no such page. */
export type RosterAnswer = Roster | 'absent';

export const readRoster = async (teamId: string): Promise<RosterAnswer> =>
  await ifMissing('absent' as const, async () => {
    const [list, health] = await Promise.all([runners.list(teamId), runners.health(teamId)]);
    return { runners: list, health };
  });

/** Returns the source that `useLiveState` is given. */
export function rosterSource(teamId: string, roster: LastGood<RosterAnswer>): StateSource<RunnersEvent> {
  return {
    open: (ending) => runners.watch(teamId, { signal: ending, maxRetries: 0 }),
    onState: ({ runners: list, health }) => roster.replace({ runners: list, health }),
    ask: roster.load,
  };
}

export type Dialog =
  | { readonly kind: 'enroll' }
  | { readonly kind: 'pause' | 'revoke' | 'clear'; readonly runner: Runner };

/** Keeps what is asked at the moment, so that a session that ends takes no text away. */
export const dialog = signal<Dialog | undefined>(undefined);
export const pauseNote = signal('');
export const pauseMinutes = signal('');

export function ask(next: Dialog): void {
  dialog.value = next;
}

export function closeDialog(): void {
  dialog.value = undefined;
  pauseNote.value = '';
  pauseMinutes.value = '';
}

onForget(closeDialog);

/** Returns what the person may do. The server decides, and this only spares them the refusal. */
export const mayManage = ({ role }: Team): boolean =>
  role === undefined || role === 'admin' || role === 'owner';
export const mayClear = ({ role }: Team): boolean => role === undefined || role === 'owner';
