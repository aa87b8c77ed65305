/** `svc auth status` */
import { Account, type AccountWhoamiResponse } from '@svc/sdk';
import { configPath } from '../shell/config.ts';
import type { Context, Own } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';

export const command: Own = {
  description:
    'Shows address, credential and account in use, and asks the server whether the credential is still good. Ends with 4 when it is not.',
  auth: 'optional',
  run: showStatus,
};

async function showStatus(context: Context): Promise<void> {
  const { io, output, signal } = context;
  const { baseUrl, profileName, profile, credential, source, withheld } = await context.connection();
  if (credential === undefined) {
    const why =
      withheld === true
        ? `profile "${profileName}" is for ${profile?.baseUrl ?? 'another address'}`
        : `nothing is stored in ${configPath(io)}`;
    throw new CliError('credentials_missing', `not signed in to ${baseUrl}: ${why}`, {
      exitCode: EXIT.auth,
      hints: ['run "svc auth login", or set SVC_API_KEY'],
    });
  }
  const account: AccountWhoamiResponse = await new Account(await context.client()).whoami({ signal });
  const usesProfile = profile !== undefined && profile.credential === credential;
  await output.value({
    baseUrl,
    credentialFrom: source,
    ...(usesProfile && profile.expiresAt !== undefined ? { sessionEndsAt: profile.expiresAt } : {}),
    account,
  });
}
