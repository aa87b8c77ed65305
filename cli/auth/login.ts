/** `svc auth login` */
import { Account, Auth, SvcApiError, type AuthLoginResponse } from '@svc/sdk';
import { configPath, storeProfile, type Profile } from '../shell/config.ts';
import { clientFor, findConnection, isExposed } from '../shell/connection.ts';
import { canAsk } from '../shell/confirm.ts';
import { defineOwn, type Context, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { CliError, UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';

/** Longer than any password or key. */
const CREDENTIAL_BYTES_MAX = 65_536;

const ARGS = {
  email: { type: 'string', valueHint: 'address', description: 'E-mail address of the account.' },
  passwordStdin: { type: 'boolean', description: 'Read the password from standard input.' },
  totp: {
    type: 'string',
    valueHint: 'code',
    sensitive: true,
    description: 'One-time code, or a recovery code, for accounts that have one enrolled.',
  },
  apiKeyStdin: { type: 'boolean', description: 'Read an API key from standard input and store it.' },
} satisfies OwnArgs;

type SigningIn = ContextOf<typeof ARGS>;

export const command = defineOwn({
  description:
    'Signs in by e-mail and password and stores the session, or stores an API key after trying it. What is not given is asked for on a terminal. The credential goes into the profile (--profile) together with the address (--base-url), readable for you alone.',
  args: ARGS,
  answer: false,
  examples: [
    { title: 'Sign in', cli: 'auth login --base-url https://svc.example.com --email me@example.com' },
    {
      title: 'Store an API key under another name',
      cli: 'auth login --profile ci --api-key-stdin < key.txt',
    },
  ],
  run: login,
});

interface Place {
  readonly baseUrl: string;
  readonly profileName: string;
}

async function login(context: SigningIn): Promise<void> {
  const { io, globals, args, output } = context;
  const {
    baseUrl,
    profileName,
    profile: before,
  } = await findConnection(io, globals, { profileMayBeNew: true });
  const place = { baseUrl, profileName };
  if (isExposed(baseUrl))
    await output.note(`warning: ${baseUrl} is not encrypted; others on the way can read the credential`);
  const profile = args.apiKeyStdin === true ? await byKey(context, place) : await byPassword(context, place);
  const isSame = before?.baseUrl === profile.baseUrl && before.userId === profile.userId;
  await storeProfile(io, profileName, {
    ...profile,
    ...(isSame && before.place !== undefined && { place: before.place }),
  });
  await output.note(
    `signed in to ${baseUrl} as ${profile.email ?? profile.userId ?? 'unknown'}; stored in ${configPath(io)} as profile "${profileName}"`,
  );
  const inTheWay = ['SVC_API_KEY', 'SVC_TOKEN'].find((name) => (io.env[name] ?? '') !== '');
  if (inTheWay !== undefined)
    await output.note(`note: ${inTheWay} is set and goes before the stored credential`);
}

/** A key that does not work is not stored. */
async function byKey({ io, globals, args, signal }: SigningIn, { baseUrl }: Place): Promise<Profile> {
  const clash = [args.email, args.passwordStdin, args.totp].find((value) => value !== undefined);
  if (clash !== undefined)
    throw new UsageError(
      '--api-key-stdin stands alone: an API key needs no e-mail address, password or code',
    );
  const credential = (await io.stdin.readAll(CREDENTIAL_BYTES_MAX)).toString().trim();
  if (!/^[\x21-\x7e]+$/.test(credential))
    throw new UsageError('standard input holds no API key: one word is expected');
  const client = clientFor(
    io,
    { baseUrl, credential },
    { debug: globals.debug, timeoutMs: globals.timeoutMs },
  );
  const account = await new Account(client).whoami({ signal });
  const kind = account.credential === 'session' ? 'session' : 'api_key';
  return { baseUrl, kind, credential, email: account.email, userId: account.userId };
}

async function byPassword(context: SigningIn, { baseUrl }: Place): Promise<Profile> {
  const { io, globals, args } = context;
  const email = await given(context, args.email, { flag: '--email', prompt: 'E-mail address: ' });
  const password =
    args.passwordStdin === true
      ? (await io.stdin.readAll(CREDENTIAL_BYTES_MAX)).toString().replace(/\r?\n$/, '')
      : await given(context, undefined, { flag: '--password-stdin', prompt: 'Password: ', hidden: true });
  if (password === '') throw new UsageError('the password is empty');
  const auth = new Auth(clientFor(io, { baseUrl }, { debug: globals.debug, timeoutMs: globals.timeoutMs }));
  const session = await openSession(context, auth, { email, password });
  return {
    baseUrl,
    kind: 'session',
    credential: session.token,
    email,
    userId: session.userId,
    expiresAt: session.expiresAt,
  };
}

async function openSession(
  context: SigningIn,
  auth: Auth,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<AuthLoginResponse> {
  const { args, signal } = context;
  const code = args.totp !== undefined ? { totpCode: args.totp } : {};
  try {
    return await auth.login(email, password, code, { signal });
  } catch (error) {
    if (!(error instanceof SvcApiError) || error.code !== 'totp_required' || 'totpCode' in code) throw error;
    if (!canAsk(context.io, context.globals)) {
      throw new CliError(error.code, error.message, {
        exitCode: EXIT.auth,
        hints: ['add --totp with the code'],
        cause: error,
      });
    }
    const totpCode = (await context.io.stdin.ask('One-time code: ')).trim();
    return auth.login(email, password, { totpCode }, { signal });
  }
}

async function given(
  { io, globals }: Context,
  value: string | undefined,
  question: { readonly flag: string; readonly prompt: string; readonly hidden?: boolean },
): Promise<string> {
  if (value !== undefined) return value;
  if (!canAsk(io, globals))
    throw new UsageError(`"svc auth login" needs ${question.flag}, and there is no terminal to ask on`, {
      hints: ['or --api-key-stdin with an API key'],
    });
  const answer = await io.stdin.ask(question.prompt, { hidden: question.hidden === true });
  // A password may begin or end with a space.
  return question.hidden === true ? answer : answer.trim();
}
