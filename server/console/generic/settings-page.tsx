/** Shows the settings of a team, a project or an environment: its facts and what can be done with it. */
import { Fetched } from '../fetched.tsx';
import { entries } from '../gen/index.ts';
import type { PageProps } from '../page.ts';
import { projectHref, teamHref, type Place } from '../place.ts';
import type { Collection, Entry } from '../spec.ts';
import { givenBy } from './addresses.ts';
import { ItemPage } from './item-page.tsx';
import { onceEach } from './once-each.ts';

const KEYS = {
  team: 'account-teams',
  project: 'team-projects',
  environment: 'project-environments',
} as const;

export function SettingsPage({ place }: PageProps) {
  const entry = entries.find(({ key }) => key === KEYS[place.at as keyof typeof KEYS]);
  return entry === undefined ? null : <Fetched key={place.base} load={settingsOf(entry)} props={{ place }} />;
}

const settingsOf = onceEach((entry: Entry) => async () => {
  const collection = await entry.load();
  return ({ place }: { readonly place: Place }) => <Settings {...{ entry, collection, place }} />;
});

function Settings({
  entry,
  collection,
  place,
}: {
  readonly entry: Entry;
  readonly collection: Collection;
  readonly place: Place;
}) {
  const { team, project, environment, base, rest } = place;
  const itemId = place.at === 'team' ? team?.id : place.at === 'project' ? project?.id : environment?.id;
  const tab = rest[1];
  const found = { entry, given: givenBy(place), itemId: itemId ?? '', tab, href: base };
  const after =
    place.at === 'environment' && project !== undefined
      ? projectHref(project.id)
      : place.at === 'project' && team !== undefined
        ? teamHref(team.id, 'projects')
        : '/console/account/teams';
  return <ItemPage found={found} collection={collection} here={`${base}/settings`} after={after} />;
}
