/** Says where the page is: team, project and environment, which can be changed for its siblings. */
import type { Signal } from '@preact/signals';
import { Button } from './button.tsx';
import { find } from './generic/addresses.ts';
import { isPaletteOpen } from './parts/palette.tsx';
import { projectHref, segment, teamHref, type Place } from './place.ts';
import { follow, navigate } from './router.ts';
import type { SignedIn } from './session.ts';

interface BreadcrumbsProps {
  readonly session: SignedIn;
  readonly place: Place | undefined;
  readonly isOpen: Signal<boolean>;
}

export function Breadcrumbs({ place, isOpen }: BreadcrumbsProps) {
  return (
    <header class="crumbs">
      <Button
        text="Menu"
        look="small"
        label="Open the navigation"
        onClick={() => (isOpen.value = !isOpen.value)}
        aria-expanded={isOpen.value}
      />
      {place !== undefined && (
        <nav aria-label="Breadcrumbs">
          <ol>
            {crumbsOf(place).map(({ title, href }) => (
              <li key={href}>
                <a href={href} onClick={follow}>
                  {title}
                </a>
              </li>
            ))}
            {place.environment !== undefined && (
              <li>
                <Environments place={place} />
              </li>
            )}
          </ol>
        </nav>
      )}
      <Button
        text="Go to…"
        look="quiet small"
        label="Go to anything (Ctrl K)"
        onClick={() => (isPaletteOpen.value = true)}
      />
    </header>
  );
}

function crumbsOf(place: Place): ReadonlyArray<{ readonly title: string; readonly href: string }> {
  const { at, team, project, base } = place;
  const found = find(place);
  if (at === 'account' || at === 'staff')
    return [{ title: at === 'staff' ? 'Staff' : 'Account', href: base }];
  return [
    ...(team === undefined ? [] : [{ title: team.name, href: teamHref(team.id) }]),
    ...(project === undefined ? [] : [{ title: project.name, href: projectHref(project.id) }]),
    ...(at === 'team' && found?.itemId !== undefined
      ? [
          {
            title: found.entry.title,
            href: `${base}/${place.rest.slice(0, found.entry.segments.length).map(segment).join('/')}`,
          },
        ]
      : []),
  ];
}

/** It leads to the same page of another environment. */
function Environments({ place: { environments, environment, project, rest } }: { readonly place: Place }) {
  if (environment === undefined || project === undefined) return null;
  const [page] = rest;
  return (
    <select
      aria-label="Environment"
      value={environment.id}
      onChange={(event) =>
        navigate(projectHref(project.id, event.currentTarget.value, ...(page === undefined ? [] : [page])))
      }
    >
      {environments.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
