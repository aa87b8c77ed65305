/**
 * Links of mails lead here, by `/console/accept-invite` and `/console/verify-email`. The token stands behind
 * the `#`, which no browser sends, and leaves the address once it was used.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { SvcApiError, Teams } from '@svc/sdk';
import { account, client } from './api.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';
import { navigate, path } from './router.ts';
import { checkSession, type Session } from './session.ts';
import { Field, SignIn } from './sign-in.tsx';
import { useWork } from './use-work.ts';

const ACCEPT = '/console/accept-invite';
const VERIFY = '/console/verify-email';

export const isMailedLink = (): boolean => path.value === ACCEPT || path.value === VERIFY;

const tokenHere = (): string => new URLSearchParams(window.location.hash.slice(1)).get('token') ?? '';

type Known = Extract<Session, { readonly state: 'in' | 'out' }>;

export function MailedLink({ session }: { readonly session: Known }) {
  const token = tokenHere();
  if (token === '') return <Incomplete />;
  if (path.value === VERIFY)
    return session.state === 'out' ? (
      <SignIn ended={false} />
    ) : (
      <Verify token={token} email={session.who.email} />
    );
  return <Accept token={token} email={session.state === 'in' ? session.who.email : undefined} />;
}

function Incomplete() {
  return (
    <Card title="The link is incomplete">
      <p>Open the whole link of the mail, or copy it into the address bar.</p>
    </Card>
  );
}

interface CardProps {
  readonly title: string;
  readonly problem?: string | undefined;
  readonly onSubmit?: () => Promise<void>;
  readonly children: ComponentChildren;
}

function Card({ title, problem, onSubmit, children }: CardProps) {
  const submit = (event: Event): void => {
    event.preventDefault();
    void onSubmit?.();
  };
  return (
    <main id="main" class="sign-in" tabIndex={-1}>
      <form class="sign-in-card" onSubmit={submit} noValidate>
        <h1>{title}</h1>
        {problem !== undefined && (
          <Notice kind="bad" role="alert">
            {problem}
          </Notice>
        )}
        {children}
      </form>
    </main>
  );
}

function Verify({ token, email }: { readonly token: string; readonly email: string }) {
  const { problem, busy, run } = useWork();
  const verify = async (): Promise<void> => {
    await account.verifyEmail(token);
    await checkSession();
    navigate('/console', { replace: true });
  };
  return (
    <Card title="Verify your address" problem={problem.value} onSubmit={async () => await run(verify)}>
      <p>You are signed in as {email}.</p>
      <Button text="Verify the address" look="primary wide" submits waits={busy.value} />
    </Card>
  );
}

interface AcceptProps {
  readonly token: string;
  /** Undefined for who is not signed in. */
  readonly email: string | undefined;
}

function Accept({ token, email }: AcceptProps) {
  const { problem, busy, run } = useWork();
  const hasAccount = useSignal(false);
  const isMade = useSignal(false);
  const isPending = useSignal(false);
  const [username, password] = [useSignal(''), useSignal('')];
  const accept = async (): Promise<void> => {
    const made = email === undefined ? { username: username.value.trim(), password: password.value } : {};
    try {
      const { pending, team } = await new Teams(client).acceptInvite(token, made);
      isPending.value = pending;
      isMade.value = email === undefined;
      if (pending || email === undefined) return;
      await checkSession();
      navigate(team === undefined ? '/console' : `/console/teams/${team.id}`, { replace: true });
    } catch (error) {
      if (error instanceof SvcApiError && error.code === 'credentials_missing') hasAccount.value = true;
      throw error;
    }
  };
  if (isPending.value) return <Pending />;
  if (email === undefined && isMade.value) return <Made />;
  if (email === undefined && hasAccount.value) return <SignIn ended={false} />;
  return (
    <Card title="Accept the invitation" problem={problem.value} onSubmit={async () => await run(accept)}>
      {email === undefined ? (
        <>
          <p>Choose a user name and a password for your new account.</p>
          <Field id="username" label="User name" value={username} type="text" autoComplete="username" focus />
          <Field
            id="password"
            label="Password"
            hint="At least 12 characters."
            value={password}
            type="password"
            autoComplete="new-password"
            focus={false}
          />
        </>
      ) : (
        <p>You are signed in as {email}.</p>
      )}
      <Button text="Join the team" look="primary wide" submits waits={busy.value} />
      {email === undefined && (
        <Button text="I have an account" look="quiet wide" onClick={() => (hasAccount.value = true)} />
      )}
    </Card>
  );
}

function Made() {
  return (
    <Card title="You have joined the team">
      <p>Sign in with your address and the password that you have chosen.</p>
      <Button
        text="Go to sign-in"
        look="primary wide"
        onClick={() => navigate('/console', { replace: true })}
      />
    </Card>
  );
}

function Pending() {
  return (
    <Card title="The team must let you in">
      <p>Your address is not verified: an admin of the team confirms that you may join.</p>
    </Card>
  );
}
