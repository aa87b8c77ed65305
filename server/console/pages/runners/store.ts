/** Reads one team's runners together with their health, so that banner and roster tell the same story. */
import { signal } from '@preact/signals';
import type { Runner, RunnersEvent, Team, TeamHealth } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import type { LastGood } from '../../last-good.ts';
import type { StateSource } from '../../live.ts';
import { createQuestion } from '../../question.ts';
import { isAdmin, isOwner, onForget } from '../../session.ts';
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

/** Question that the page asks at the moment. */
export type Dialog =
  | { readonly kind: 'enroll' }
  | { readonly kind: 'pause' | 'revoke' | 'clear'; readonly runner: Runner };

const question = createQuestion<Dialog>();
export const { dialog, ask } = question;
export const pauseNote = signal('');
export const pauseMinutes = signal('');

export function closeDialog(): void {
  question.closeDialog();
  pauseNote.value = '';
  pauseMinutes.value = '';
}

onForget(closeDialog);

/** Returns what the person may do. The server decides, and this only spares them the refusal. */
export const mayManage = ({ role }: Team): boolean => isAdmin(role);
export const mayClear = ({ role }: Team): boolean => isOwner(role);
