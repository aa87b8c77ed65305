/** `svc auth status` */
import { Account, type AccountWhoamiResponse } from '@svc/sdk';
import { configPath } from '../shell/config.ts';
import type { Context, Own } from '../shell/command.ts';
import type { Connection } from '../shell/connection.ts';
import { CliError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';

export const command: Own = {
  description:
    'Shows address, credential and account in use, and asks the server whether the credential is still good. Ends with 4 when it is not.',
  auth: 'optional',
  answer: {
    baseUrl: '',
    credentialFrom: '',
    sessionEndsAt: '',
    account: 'svc.account.v1.WhoamiResponse',
  },
  run: showStatus,
};

/** Returns the connection; it throws where there is no credential for it. */
export async function credentialIn(context: Context): Promise<Connection> {
  const connection = await context.connection();
  const { baseUrl, profileName, profile, credential, withheld } = connection;
  if (credential !== undefined) return connection;
  const why =
    withheld === true
      ? `profile "${profileName}" is for ${profile?.baseUrl ?? 'another address'}`
      : `nothing is stored in ${configPath(context.io)}`;
  throw new CliError('credentials_missing', `not signed in to ${baseUrl}: ${why}`, {
    exitCode: EXIT.auth,
    hints: ['run "svc auth login", or set SVC_API_KEY'],
  });
}

async function showStatus(context: Context): Promise<void> {
  const { output, signal } = context;
  const { baseUrl, profile, credential, source } = await credentialIn(context);
  const account: AccountWhoamiResponse = await new Account(await context.client()).whoami({ signal });
  const usesProfile = profile !== undefined && profile.credential === credential;
  await output.value({
    baseUrl,
    credentialFrom: source,
    ...(usesProfile && profile.expiresAt !== undefined ? { sessionEndsAt: profile.expiresAt } : {}),
    account,
  });
}
