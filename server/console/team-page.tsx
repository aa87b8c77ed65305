/** Reads the team of the place for a page that shows more of it than its name. */
import type { ComponentChildren } from 'preact';
import { Teams, type Team } from '@svc/sdk';
import { client, ifMissing } from './api.ts';
import { useRead } from './cache.ts';
import { Missing } from './missing.tsx';
import type { Place } from './place.ts';
import { Unread } from './reading.tsx';

const teams = new Teams(client);

interface TeamPageProps {
  readonly title: string;
  readonly place: Place;
  readonly children: (team: Team) => ComponentChildren;
}

export function TeamPage({ title, place: { team: of }, children }: TeamPageProps) {
  const id = of?.id ?? '';
  const read = useRead<{ team: Team | undefined }>(`team ${id}`, async () => ({
    team: await ifMissing(undefined, async () => await teams.get(id)),
  }));
  const known = read.data.value;
  if (known === undefined)
    return (
      <>
        <h1>{title}</h1>
        <Unread of={read} what="the team" rows={3} />
      </>
    );
  return known.team === undefined ? <Missing /> : <>{children(known.team)}</>;
}
