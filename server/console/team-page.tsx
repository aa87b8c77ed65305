/** Shows a page about one team, which is the one that the address names, or else the first that suits. */
import type { ComponentChildren } from 'preact';
import { Teams, type Team } from '@svc/sdk';
import { Picker } from './picker.tsx';
import { client } from './api.ts';
import { Missing } from './missing.tsx';
import { Unread } from './reading.tsx';
import { param } from './router.ts';
import { useLastGood } from './use-last-good.ts';

const teams = new Teams(client);

export interface TeamPageProps {
  readonly title: string;
  /** Goes before the others when the address names none. */
  readonly suits?: (team: Team) => boolean;
  /** Another team was chosen. */
  readonly onPick: (teamId: string) => void;
  readonly children: (team: Team, picker: ComponentChildren) => ComponentChildren;
}

export function TeamPage({ title, suits, onPick, children }: TeamPageProps) {
  const list = useLastGood(async () => await teams.list());
  const all = list.data.value;
  if (all === undefined) {
    return (
      <>
        <h1>{title}</h1>
        <Unread of={list} what="your teams" rows={3} />
      </>
    );
  }
  const wanted = param('team');
  const team =
    wanted === undefined ? ((suits && all.find(suits)) ?? all[0]) : all.find(({ id }) => id === wanted);
  if (team === undefined) return <Missing />;
  return <>{children(team, <Picker label="Team" of={all} value={team.id} onPick={onPick} />)}</>;
}
