/** This view shows the pages of a project or an environment in one line above each of them. */
import { useEffect, useRef } from 'preact/hooks';
import { groupsAt } from './navigation.ts';
import { segment, type Place } from './place.ts';
import { follow, path } from './router.ts';
import type { SignedIn } from './session.ts';

/** Ends of addresses that come first; whatever else there is follows by area. */
const FIRST = ['builds', 'timeline', 'variables', 'build-steps'];
/** The overview of a project is the list of its environments. */
const ELSEWHERE = 'environments';

const endOf = (href: string): string => href.slice(href.lastIndexOf('/') + 1);

function rankOf(href: string): number {
  const at = FIRST.indexOf(endOf(href));
  return at === -1 ? FIRST.length : at;
}

export function PlaceTabs({ place, session }: { readonly place: Place; readonly session: SignedIn }) {
  const { at, base, team, project, environment } = place;
  const list = useRef<HTMLElement>(null);
  const here = path.value;
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [here]);
  const links = groupsAt({ at, base, teamId: team?.id }, session)
    .flatMap((group) => group.links)
    .filter(({ href }) => endOf(href) !== ELSEWHERE)
    .toSorted((a, b) => rankOf(a.href) - rankOf(b.href));
  const all = [{ title: 'Overview', href: base }, ...links, { title: 'Settings', href: `${base}/settings` }];
  const [first = ''] = place.rest;
  return (
    <nav ref={list} class="tabs place-tabs" aria-label={`Pages of ${(environment ?? project)?.name ?? ''}`}>
      {all.map(({ title, href }) => (
        <a
          key={href}
          href={href}
          aria-current={href === (first === '' ? base : `${base}/${segment(first)}`) ? 'page' : undefined}
          onClick={follow}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}
