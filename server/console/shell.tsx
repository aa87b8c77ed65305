/** Shows what is around every page: header, navigation, sign-in, announcements. */
import { useEffect } from 'preact/hooks';
import { Brand, NAME } from './brand.tsx';
import { Button } from './button.tsx';
import { announcement } from './announce.ts';
import { isMailedLink, MailedLink } from './mailed-links.tsx';
import { Notice } from './notice.tsx';
import { Frame } from './frame.tsx';
import { checkSession, session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { pageTitle, part } from './title.ts';
import './theme.ts';

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
  useTitle(now.state === 'in' ? pageTitle.value : now.state === 'out' ? 'Sign in' : undefined);
  switch (now.state) {
    case 'checking':
      return <main id="main" class="waiting" aria-busy="true" />;
    case 'unreachable':
      return <Unreachable problem={now.problem} stillIn={now.stillIn} />;
    case 'out':
      return (
        <>
          <SignedOutHeader />
          {isMailedLink() ? <MailedLink session={now} /> : <SignIn ended={now.ended} />}
        </>
      );
    case 'in':
      return isMailedLink() ? <MailedLink session={now} /> : <Frame session={now} />;
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

function SignedOutHeader() {
  return (
    <header class="top">
      <Brand />
    </header>
  );
}
