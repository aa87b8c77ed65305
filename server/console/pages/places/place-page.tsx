/** The first page of a project, of an environment, of the account and of the staff: what is in it. */
import type { ComponentChildren } from 'preact';
import { Fetched } from '../../fetched.tsx';
import { entries } from '../../gen/index.ts';
import { givenBy } from '../../generic/addresses.ts';
import { viewOf } from '../../generic/item-page.tsx';
import { groupsAt, servicesAt } from '../../navigation.ts';
import type { PageProps } from '../../page.ts';
import type { Place } from '../../place.ts';
import { follow } from '../../router.ts';
import type { SignedIn } from '../../session.ts';

export function PlacePage({ place, session }: PageProps) {
  const { at, project, environment } = place;
  const title = environment?.name ?? project?.name ?? (at === 'staff' ? 'Staff' : 'Account');
  return (
    <>
      <h1>{title}</h1>
      {at === 'project' && <Environments place={place} />}
      <Index place={place} session={session} />
    </>
  );
}

function Environments({ place }: { readonly place: Place }): ComponentChildren {
  const entry = entries.find(({ key }) => key === 'project-environments');
  if (entry === undefined) return null;
  return (
    <Fetched
      load={viewOf(entry)}
      props={{ entry, given: givenBy(place), href: `${place.base}/environments` }}
    />
  );
}

/** What is below the place, by area. */
function Index({ place: { at, base }, session }: { readonly place: Place; readonly session: SignedIn }) {
  const isPart = at === 'project' || at === 'environment';
  const groups = [
    ...groupsAt(at, base, session),
    {
      title: 'More',
      links: isPart ? [{ title: 'Settings', href: `${base}/settings` }] : servicesAt(at, base),
    },
  ].filter(({ links }) => links.length > 0);
  return (
    <div class="index">
      {groups.map(({ title, links }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul>
            {links.map((link) => (
              <li key={link.href}>
                <a href={link.href} onClick={follow}>
                  {link.title}
                </a>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}
