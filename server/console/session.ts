/**
 * This store knows who is signed in. The session itself is a cookie that scripts cannot read, so the only
 * way to know is to ask.
 *
 *     checking → in | out | unreachable;  in → out (signed out, or the session ended) | unreachable;  out →
 *     in | unreachable;  unreachable → in | out
 *
 * A session that ends in mid-use takes nothing away: the address and what pages hold in memory stay as they
 * are, so that the same person goes on where they were. Signing out, and signing in as somebody else, clears
 * it all.
 */
import { signal } from '@preact/signals';
import { SvcApiError, type AccountWhoamiResponse, type ResolvedFeature } from '@svc/sdk';
import type { Role } from './spec.ts';
import { account, auth, explain, isUnauthenticated, platformFeatures, whenUnauthenticated } from './api.ts';

export interface SignedIn {
  readonly state: 'in';
  readonly who: AccountWhoamiResponse;
  readonly resolved: Readonly<Record<string, ResolvedFeature>>;
}

export type Session =
  | { readonly state: 'checking' }
  /** `stillIn`: signing out failed. Anybody else is waiting to get in. */
  | { readonly state: 'unreachable'; readonly problem: string; readonly stillIn: boolean }
  | { readonly state: 'out'; readonly ended: boolean }
  | SignedIn;

export const session = signal<Session>({ state: 'checking' });

const clearings = new Set<() => void>();
let lastWho: AccountWhoamiResponse | undefined;

/** Whatever holds data of the person's registers here how it forgets them. Returns how to take that back. */
export function onForget(clear: () => void): () => void {
  clearings.add(clear);
  return () => void clearings.delete(clear);
}

function forget(): void {
  lastWho = undefined;
  for (const clear of clearings) clear();
}

whenUnauthenticated(() => {
  const { state } = session.value;
  if (state !== 'out') session.value = { state: 'out', ended: state === 'in' };
});

/** Asks the server who we are. */
export async function checkSession(): Promise<void> {
  try {
    const who = await account.whoami();
    const resolved = await platformFeatures.resolved();
    if (lastWho !== undefined && lastWho.userId !== who.userId) forget();
    lastWho = who;
    session.value = { state: 'in', who, resolved };
  } catch (error) {
    if (!isUnauthenticated(error))
      session.value = { state: 'unreachable', problem: explain(error), stillIn: false };
  }
}

/** The address that the sign-in form begins with after a session ended. */
export function lastEmail(): string {
  return lastWho?.email ?? '';
}

export type SignInProblem =
  | { readonly field: 'code'; readonly needed: true }
  | { readonly field: 'code' | 'password' | 'form'; readonly text: string; readonly needed?: never };

/** Undefined when it worked. */
export async function signIn(
  email: string,
  password: string,
  totpCode: string | undefined,
): Promise<SignInProblem | undefined> {
  try {
    // Retrying would only use up the tries that the server grants.
    await auth.login(email, password, totpCode === undefined ? {} : { totpCode }, { maxRetries: 0 });
  } catch (error) {
    return problemOf(error);
  }
  await checkSession();
  if (session.value.state === 'out') return { field: 'form', text: COOKIE_LOST };
  return undefined;
}

const COOKIE_LOST =
  'You were signed in, but the browser did not keep the session cookie. It keeps it only when the console is opened over https or at localhost.';

function problemOf(error: unknown): SignInProblem {
  const code = error instanceof SvcApiError ? error.code : undefined;
  if (code === 'totp_required') return { field: 'code', needed: true };
  if (code === 'totp_invalid') {
    return {
      field: 'code',
      text: 'This code is wrong or was used already. Wait for the next one, and check the clock of the device that shows it.',
    };
  }
  if (code === 'credentials_invalid')
    return { field: 'password', text: 'E-mail address or password is wrong.' };
  return { field: 'form', text: explain(error) };
}

export async function signOut(): Promise<void> {
  try {
    await auth.logout();
  } catch (error) {
    // A session that has ended already needs no ending.
    if (!isUnauthenticated(error)) {
      session.value = {
        state: 'unreachable',
        problem: `You are still signed in. ${explain(error)}`,
        stillIn: true,
      };
      return;
    }
  }
  forget();
  session.value = { state: 'out', ended: false };
}

/** Returns whether the installation offers a feature to this person. */
export function offers({ resolved }: SignedIn, key: string): boolean {
  const feature = resolved[key];
  return typeof feature === 'object' ? feature.enabled : feature === true;
}

/** Returns whether the installation says of a feature that it is off; of internal ones it says nothing. */
export const isOff = (who: SignedIn, key: string): boolean => key in who.resolved && !offers(who, key);

/** Weakest first; that of a viewer is below all of them. */
export const ROLES: readonly Role[] = ['developer', 'admin', 'owner'];

/** Staff who look on have none. */
export const roleIn = ({ who }: SignedIn, team: string): string | undefined =>
  who.teams.find(({ teamId }) => teamId === team)?.role;

export const isAdmin = (role: string | undefined): boolean => isAtLeast(role, 'admin');

/** What no role is known of is left to the server. */
const isAtLeast = (role: string | undefined, least: Role): boolean =>
  role === undefined || ROLES.findIndex((each) => each === role) >= ROLES.indexOf(least);

/** Returns whether the person's role in a team is at least such a one. */
export function mayIn(teamId: unknown, least: Role | undefined): boolean {
  const now = session.value;
  if (least === undefined || typeof teamId !== 'string' || now.state !== 'in') return true;
  return isAtLeast(roleIn(now, teamId), least);
}
