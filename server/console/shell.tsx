/** Shows what is around every page: header, navigation, sign-in, announcements. */
import { useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from './button.tsx';
import { announcement } from './announce.ts';
import { available, findAvailable } from './available.ts';
import { Missing } from './missing.tsx';
import { Notice } from './notice.tsx';
import { Fetched } from './fetched.tsx';
import type { ConsolePage } from './page.ts';
import { HOME, PAGES } from './pages/index.ts';
import { follow, navigate, path } from './router.ts';
import { checkSession, offers, session, signOut, type SignedIn } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { part } from './title.ts';

const NAME = 'svc console';

export function Shell() {
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <Content />
      {/* Always there: screen readers announce changes of a region, not its appearance. */}
      <div class={announcement.value === '' ? 'toast' : 'toast toast-shown'} role="status">
        {announcement.value}
      </div>
    </>
  );
}

function Content() {
  const now = session.value;
  useTitle(now.state === 'in' ? pageAt(path.value)?.title : now.state === 'out' ? 'Sign in' : undefined);
  switch (now.state) {
    case 'checking':
      return <main id="main" class="waiting" aria-busy="true" />;
    case 'unreachable':
      return <Unreachable problem={now.problem} stillIn={now.stillIn} />;
    case 'out':
      return (
        <>
          <Header />
          <SignIn ended={now.ended} />
        </>
      );
    case 'in':
      return (
        <>
          <Header session={now} />
          <PageOutlet session={now} />
        </>
      );
  }
}

function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = [part.value, title, NAME].filter(Boolean).join(' · ');
  }, [title, part.value]);
}

/** Between two tries by itself. */
const TRY_AGAIN_MS = 5_000;

function Unreachable({ problem, stillIn }: { readonly problem: string; readonly stillIn: boolean }) {
  useEffect(() => {
    // Who wanted to leave must see that they have not; everybody else goes on as soon as the server is back.
    if (stillIn) return;
    let timer: number | undefined;
    let gone = false;
    const later = (): void => {
      if (!gone) timer = window.setTimeout(() => void checkSession().then(later), TRY_AGAIN_MS);
    };
    later();
    return () => {
      gone = true;
      window.clearTimeout(timer);
    };
  }, [stillIn]);
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <div class="sign-in-card">
        <h1>The console cannot go on</h1>
        <Notice kind="bad" role="alert">
          {problem}
        </Notice>
        <Button text="Try again" look="primary wide" onClick={() => void checkSession()} />
      </div>
    </main>
  );
}

function Header({ session: who }: { readonly session?: SignedIn }) {
  useEffect(() => {
    if (who !== undefined) void findAvailable(PAGES);
  }, [who]);
  return (
    <header class="top">
      <a class="brand" href="/console/" onClick={follow}>
        <Mark />
        <span>{NAME}</span>
      </a>
      {who !== undefined && (
        <>
          <nav class="nav" aria-label="Pages">
            <ul>
              {PAGES.filter((page) => isOffered(page, who)).map((page) => (
                <li key={page.path}>
                  <a
                    href={hrefOf(page)}
                    onClick={follow}
                    aria-current={path.value === hrefOf(page) ? 'page' : undefined}
                  >
                    {page.title}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <div class="whoami">
            <span class="whoami-mail" title={who.who.email}>
              {who.who.email}
              {!who.who.emailVerified && ' (unverified)'}
            </span>
            <Button text="Sign out" look="quiet" onClick={() => void signOut()} />
          </div>
        </>
      )}
    </header>
  );
}

const Mark = () => (
  <svg class="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" focusable="false">
    <rect class="mark-ground" width="32" height="32" rx="8" />
    <rect class="mark-track" x="6" y="10" width="20" height="12" rx="6" />
    <circle class="mark-ground" cx="20" cy="16" r="4" />
  </svg>
);

function PageOutlet({ session: who }: { readonly session: SignedIn }) {
  const page = pageAt(path.value);
  const first = PAGES.find((each) => each.audience === 'staff' && mayOpen(each, who));
  const lead = page === HOME && first !== undefined ? hrefOf(first) : undefined;
  useEffect(() => {
    // The overview is for everybody else.
    if (lead !== undefined) navigate(lead, { replace: true });
  }, [lead]);
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path.peek());
  useSignalEffect(() => {
    if (path.value === shown.current) return;
    shown.current = path.value;
    main.current?.focus();
  });
  return (
    <main id="main" ref={main} class="page" tabIndex={-1}>
      {lead !== undefined ? null : page === undefined ? (
        <Missing />
      ) : mayOpen(page, who) ? (
        <Fetched key={page.path} load={page.load} props={{ session: who }} />
      ) : (
        <NotForYou page={page} session={who} />
      )}
    </main>
  );
}

function NotForYou({ page, session: who }: { readonly page: ConsolePage; readonly session: SignedIn }) {
  const off = page.feature !== undefined && !offers(who, page.feature);
  return (
    <>
      <h1>{off ? `${page.title} is switched off here` : 'This page is for staff'}</h1>
      <p class="lead">
        {off
          ? 'The platform feature behind it is off on this installation.'
          : `You are signed in as ${who.who.email}, which is not a staff account. Sign in with another account, or ask the people who run this installation.`}
      </p>
      <p>
        <a href="/console/" onClick={follow}>
          See what this installation offers
        </a>
      </p>
    </>
  );
}

function hrefOf(page: ConsolePage): string {
  return `/console/${page.path}`;
}

function pageAt(at: string): ConsolePage | undefined {
  const wanted = at.replace(/^\/console\/?/, '');
  return wanted === '' ? HOME : PAGES.find((page) => page.path === wanted);
}

function mayOpen(page: ConsolePage, who: SignedIn): boolean {
  return (
    (page.audience === 'everybody' || who.who.staff) &&
    (page.feature === undefined || offers(who, page.feature))
  );
}

function isOffered(page: ConsolePage, who: SignedIn): boolean {
  return mayOpen(page, who) && (page.isThere === undefined || available.value.has(page));
}
