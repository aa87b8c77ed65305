/** `svc auth logout` */
import { Auth, SvcApiError } from '@svc/sdk';
import { readConfig, storeProfile, DEFAULT_PROFILE, type Profile } from '../shell/config.ts';
import { clientFor } from '../shell/connection.ts';
import type { Context, Own } from '../shell/command.ts';

export const command: Own = {
  description:
    'Ends the stored session at the server and forgets the profile with its credential. An API key stays good; "svc keys revoke" ends it. Credentials of the environment are not touched.',
  answer: false,
  run: logout,
};

async function logout(context: Context): Promise<void> {
  const { io, globals, output } = context;
  const name = globals.profile ?? (io.env['SVC_PROFILE'] || DEFAULT_PROFILE);
  const { profiles } = await readConfig(io);
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile === undefined) return output.note(`nothing is stored for profile "${name}"`);
  // First at the server: once the token is forgotten here, nobody can end its session any more.
  const problem = profile.kind === 'session' ? await endSession(context, profile) : undefined;
  await storeProfile(io, name, undefined);
  await output.note(`signed out of ${profile.baseUrl}, profile "${name}"`);
  if (problem !== undefined)
    await output.note(
      `warning: the session could not be ended at the server (${problem}); it ends by itself`,
    );
  if ((io.env['SVC_API_KEY'] ?? io.env['SVC_TOKEN'] ?? '') !== '')
    await output.note('note: SVC_API_KEY or SVC_TOKEN is set and still in use');
}

/** Returns the problem, if there is one; a session that is over already is none. */
async function endSession({ io, globals, signal }: Context, profile: Profile): Promise<string | undefined> {
  const client = clientFor(io, profile, {
    debug: globals.debug,
    timeoutMs: globals.timeoutMs,
    maxRetries: 0,
  });
  try {
    await new Auth(client).logout({ signal });
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SvcApiError)) throw error;
    return error.status === 401 ? undefined : error.message;
  }
}
