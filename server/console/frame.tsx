/** Shows what is around every page of somebody who is signed in: the sidebar, and where the page is. */
import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Breadcrumbs } from './breadcrumbs.tsx';
import { useRead } from './cache.ts';
import { Fetched } from './fetched.tsx';
import { find } from './generic/addresses.ts';
import { lastTeam, rememberTeam } from './last-team.ts';
import { Missing } from './missing.tsx';
import { leadOf, queryBeside } from './old-addresses.ts';
import type { ConsolePage, PageView } from './page.ts';
import { PAGES } from './pages/index.ts';
import { address, readPlace, segment, type Address, type Place } from './place.ts';
import { Unread } from './reading.tsx';
import { navigate, param, path } from './router.ts';
import { mayIn, isOff, roleIn, type SignedIn } from './session.ts';
import { KeysDialog } from './parts/keys-dialog.tsx';
import { areKeysShown, useKeys } from './parts/keys.ts';
import { isPaletteOpen, Palette } from './parts/palette.tsx';
import { allLinks, Sidebar } from './sidebar.tsx';
import { PlaceTabs } from './tabs.tsx';
import { pageTitle } from './title.ts';

interface FrameProps {
  readonly session: SignedIn;
}

export function Frame({ session }: FrameProps) {
  const now = address.value;
  return now.at === 'home' ? (
    <Lead session={session} first={now.rest[0] ?? ''} />
  ) : (
    <Placed session={session} address={now} />
  );
}

/** Goes on to where an address without a place leads. */
function Lead({ session, first }: FrameProps & { readonly first: string }) {
  const lead = address.value.rest.length > 1 ? undefined : leadOf(first, param, session.who);
  useEffect(() => {
    if (lead !== undefined) navigate(`${lead}${queryBeside(window.location.search)}`, { replace: true });
  }, [lead]);
  return (
    <Around session={session} place={undefined}>
      {lead === undefined ? <Missing /> : null}
    </Around>
  );
}

function Placed({ session, address: now }: FrameProps & { readonly address: Address }) {
  const { at, name, environment, rest } = now;
  const isRead = at === 'project' || at === 'environment';
  const key = `place ${session.who.userId} ${at} ${name} ${environment ?? ''}`;
  const read = useRead<{ place: Place | undefined }>(key, async () => ({
    place: await readPlace(session, { ...now, rest: [] }),
  }));
  const known = read.data.value;
  const place = known?.place && { ...known.place, rest };
  const teamId = place?.team?.id;
  const lead =
    place !== undefined && name === '' && at === 'environment'
      ? [place.base, ...rest.map(segment)].join('/')
      : undefined;
  useEffect(() => {
    if (lead !== undefined) navigate(`${lead}${window.location.search}`, { replace: true });
  }, [lead]);
  useEffect(() => {
    if (teamId !== undefined) rememberTeam(teamId);
  }, [teamId]);
  return (
    <Around session={session} place={place}>
      {known === undefined ? (
        isRead && <Unread of={read} what="the place" />
      ) : place === undefined ? (
        <Missing />
      ) : (
        <>
          {isRead && <PlaceTabs place={place} session={session} />}
          <Outlet session={session} place={place} />
        </>
      )}
    </Around>
  );
}

interface AroundProps extends FrameProps {
  readonly place: Place | undefined;
  readonly children: ComponentChildren;
}

function Around({ session, place, children }: AroundProps) {
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path.peek());
  const isOpen = useSignal(false);
  useKeys();
  useSignalEffect(() => {
    if (path.value === shown.current) return;
    shown.current = path.value;
    isOpen.value = false;
    main.current?.focus();
  });
  return (
    <div class={isOpen.value ? 'frame frame-open' : 'frame'}>
      <Sidebar session={session} place={place} isOpen={isOpen} />
      <div class="frame-main">
        <Breadcrumbs session={session} place={place} isOpen={isOpen} />
        <main id="main" ref={main} class="page" tabIndex={-1}>
          {children}
        </main>
      </div>
      {isPaletteOpen.value && (
        <Palette teamId={place?.team?.id ?? lastTeam(session.who)} pages={allLinks(session, place)} />
      )}
      {areKeysShown.value && <KeysDialog />}
    </div>
  );
}

const generic = async (): Promise<PageView> => (await import('./generic/generic-page.tsx')).GenericPage;
const settings = async (): Promise<PageView> => (await import('./generic/settings-page.tsx')).SettingsPage;
const parts = async (): Promise<PageView> => (await import('./pages/places/place-page.tsx')).PlacePage;

function Outlet({ session, place }: FrameProps & { readonly place: Place }) {
  const page = pageAt(place);
  const entry = find(place)?.entry;
  const title = page?.title ?? entry?.title;
  useEffect(() => {
    pageTitle.value = title;
  }, [title]);
  if (place.at === 'staff' && !session.who.staff) return <NotForYou session={session} />;
  if (page?.feature !== undefined && isOff(session, page.feature)) return <SwitchedOff title={page.title} />;
  if (entry !== undefined && !mayIn(place.team?.id, entry.role))
    return (
      <NotForRole title={title ?? ''} role={roleIn(session, place.team?.id ?? '') ?? ''} least={entry.role} />
    );
  const load = page?.load ?? loadAt(place);
  return (
    <Fetched
      key={`${place.base} ${page?.segments.join('/') ?? load.name}`}
      load={load}
      props={{ session, place }}
    />
  );
}

function pageAt({ at, rest }: Place): ConsolePage | undefined {
  return PAGES.find(
    (page) =>
      page.at === at &&
      page.segments.length === rest.length &&
      page.segments.every((each, index) => each === '*' || each === rest[index]),
  );
}

function loadAt({ at, rest: [first] }: Place): () => Promise<PageView> {
  if (first === 'settings' && at !== 'account' && at !== 'staff') return settings;
  return first === undefined ? parts : generic;
}

function SwitchedOff({ title }: { readonly title: string }) {
  return (
    <>
      <h1>{title} is switched off here</h1>
      <p class="lead">The platform feature behind it is off on this installation.</p>
    </>
  );
}

interface NotForRoleProps {
  readonly title: string;
  readonly role: string;
  readonly least: string | undefined;
}

function NotForRole({ title, role, least }: NotForRoleProps) {
  return (
    <>
      <h1>{title}</h1>
      <p class="lead">
        This page needs the role {least}. Your role in the team is {role}: an admin of the team can change it.
      </p>
    </>
  );
}

function NotForYou({ session: { who } }: FrameProps) {
  return (
    <>
      <h1>This page is for staff</h1>
      <p class="lead">
        You are signed in as {who.email}, which is not a staff account. Sign in with another account, or ask
        the people who run this installation.
      </p>
    </>
  );
}
