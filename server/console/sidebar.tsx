/** Shows where one can go from here: the team, its pages by area, the account, pages of staff. */
import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Brand } from './brand.tsx';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { lastTeam } from './last-team.ts';
import { askFeatures, groupsAt, servicesAt, type Group, type Link } from './navigation.ts';
import { areKeysShown } from './parts/keys.ts';
import { Picker } from './picker.tsx';
import { teamHref, type Place } from './place.ts';
import { follow, navigate, path } from './router.ts';
import { signOut, type SignedIn } from './session.ts';
import { theme, THEMES } from './theme.ts';

interface SidebarProps {
  readonly session: SignedIn;
  readonly place: Place | undefined;
  readonly isOpen: Signal<boolean>;
}

export function Sidebar({ session, place, isOpen }: SidebarProps) {
  const { who } = session;
  const teamId = place?.team?.id ?? lastTeam(who);
  useEffect(() => {
    if (teamId !== undefined) void askFeatures(teamId, session);
  }, [teamId]);
  return (
    <aside class="sidebar" aria-label="Navigation">
      <div class="sidebar-head">
        <Brand />
        <Button
          text={<Icon of="close" />}
          look="quiet icon"
          label="Close the navigation"
          onClick={() => (isOpen.value = false)}
        />
      </div>
      {who.teams.length > 0 && (
        <Picker
          label="Team"
          of={who.teams.map(({ teamId: id, name }) => ({ id, name }))}
          value={teamId ?? ''}
          onPick={(id) => navigate(teamHref(id))}
        />
      )}
      <nav class="nav" aria-label="Pages">
        {linksOf(session, place, teamId).map(({ title, links }) => (
          <section key={title}>
            {title !== '' && <h2>{title}</h2>}
            <ul>
              {links.map((link) => (
                <li key={link.href}>
                  <NavLink {...link} />
                </li>
              ))}
            </ul>
          </section>
        ))}
      </nav>
      <Foot session={session} />
    </aside>
  );
}

/** Everything that the sidebar leads to, for the palette. */
export const allLinks = (session: SignedIn, place: Place | undefined): readonly Link[] =>
  linksOf(session, place, place?.team?.id ?? lastTeam(session.who)).flatMap(({ links }) => links);

function linksOf(session: SignedIn, place: Place | undefined, teamId: string | undefined): readonly Group[] {
  const at = place?.at;
  if (at === 'account' || at === 'staff')
    return [
      ...groupsAt({ at, base: `/console/${at}`, teamId: undefined }, session),
      { title: at === 'staff' ? 'More' : 'Account', links: servicesAt(at, `/console/${at}`) },
    ].filter(({ links }) => links.length > 0);
  if (teamId === undefined) return [];
  const base = teamHref(teamId);
  return [
    {
      title: '',
      links: [
        { title: 'Overview', href: base },
        { title: 'Inbox', href: `${base}/inbox` },
      ],
    },
    ...groupsAt({ at: 'team', base, teamId }, session),
    { title: 'Team', links: [{ title: 'Settings', href: `${base}/settings` }] },
  ];
}

function NavLink({ title, href }: Link) {
  return (
    <a href={href} onClick={follow} aria-current={path.value === href ? 'page' : undefined}>
      {title}
    </a>
  );
}

function Foot({ session: { who } }: { readonly session: SignedIn }) {
  return (
    <div class="sidebar-foot">
      <div class="whoami">
        <a class="whoami-mail" href="/console/account/account" title={who.email} onClick={follow}>
          {who.email}
          {!who.emailVerified && ' (unverified)'}
        </a>
      </div>
      <div class="sidebar-foot-links">
        <NavLink title="Account" href="/console/account/api-keys" />
        {who.staff && <NavLink title="Staff" href="/console/staff/platform-features" />}
      </div>
      <label class="picker">
        <span>Theme</span>
        <select
          value={theme.value}
          onChange={(event) =>
            (theme.value = THEMES.find((each) => each === event.currentTarget.value) ?? 'system')
          }
        >
          {THEMES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <div class="sidebar-foot-links">
        <Button text="Help and keys" look="quiet small" onClick={() => (areKeysShown.value = true)} />
        <Button text="Sign out" look="quiet small" onClick={() => void signOut()} />
      </div>
    </div>
  );
}
