/** `svc auth token` */
import type { Own } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';

export const command: Own = {
  description:
    'Prints the credential in use, an API key or a session token, for programs that send it themselves. It is a secret.',
  answer: false,
  examples: [
    { title: 'With another client', cli: 'auth token | xargs -I{} curl -H "authorization: Bearer {}" …' },
  ],
  run: async (context) => {
    const { credential, withheld } = await context.connection();
    if (credential === undefined) {
      throw new CliError('credentials_missing', 'no credential is in use', {
        exitCode: EXIT.auth,
        hints: [
          withheld === true
            ? 'the stored credential belongs to another address; leave out --base-url and SVC_BASE_URL'
            : 'run "svc auth login", or set SVC_API_KEY',
        ],
      });
    }
    await context.output.raw(`${credential}\n`);
  },
};
