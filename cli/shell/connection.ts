/**
 * Finds address and credential of a command. Flags win over the environment, the environment over the
 * profile.
 */
import { Client, type Fetch } from '@svc/sdk';
import { CLI_VERSION } from '../version.ts';
import { DEFAULT_PROFILE, readConfig, type Config, type Profile } from './config.ts';
import { UsageError } from './errors.ts';
import type { Globals } from './globals.ts';
import type { Io } from './io.ts';
import { fetchOf } from './proxied-fetch.ts';
import { meantHints } from './suggest.ts';
import { neutraliseLine } from './text.ts';

export const DEFAULT_BASE_URL = 'http://localhost:8080';
/** Longer than the SDK's: `runners diagnose --live` alone may take 20 s. */
const REQUEST_TIMEOUT_MS = 30_000;

export interface Connection {
  readonly baseUrl: string;
  readonly profileName: string;
  readonly profile?: Profile;
  readonly credential?: string;
  /** Source of the credential, for messages: `SVC_API_KEY`. */
  readonly source?: string;
  /** A stored credential exists, and was not used because it belongs to another address. */
  readonly withheld?: true;
}

type WantedConnection = Pick<Globals, 'profile' | 'baseUrl' | 'apiKey'>;

/** Finds the connection; `profileMayBeNew` is for the command that makes profiles. */
export async function findConnection(
  io: Io,
  globals: WantedConnection,
  options: { readonly profileMayBeNew?: boolean } = {},
): Promise<Connection> {
  const named = globals.profile ?? nonEmpty(io.env['SVC_PROFILE']);
  const profileName = named ?? DEFAULT_PROFILE;
  const given = givenCredential(io, globals);
  const address = globals.baseUrl ?? nonEmpty(io.env['SVC_BASE_URL']);
  // Complete without the file: a broken one must not stop a CI job that never needed it.
  const config =
    named === undefined && given !== undefined && address !== undefined ? undefined : await readConfig(io);
  const profile = config === undefined ? undefined : findProfile(config, profileName);
  if (named !== undefined && profile === undefined && options.profileMayBeNew !== true)
    throw unknownProfile(named, config ?? { profiles: {} });
  const baseUrl = checkedAddress(address ?? profile?.baseUrl ?? DEFAULT_BASE_URL);
  const found = { baseUrl, profileName, ...(profile === undefined ? {} : { profile }) };
  if (given !== undefined) return { ...found, ...given };
  if (profile === undefined) return found;
  // The secret of one server must not be shown to another because an address was mistyped or slipped in.
  if (checkedAddress(profile.baseUrl) !== baseUrl) return { ...found, withheld: true };
  return { ...found, credential: profile.credential, source: `profile "${profileName}"` };
}

/** The one way to a client, so that all of them say who they are. */
export function clientFor(
  io: Io,
  connection: { readonly baseUrl: string; readonly credential?: string | undefined },
  options: {
    readonly debug: boolean;
    readonly timeoutMs?: number | undefined;
    readonly maxRetries?: number;
    readonly fetch?: Fetch | undefined;
  },
): Client {
  return new Client({
    baseUrl: connection.baseUrl,
    apiKey: connection.credential,
    // The second one is for the server's records of changes; a user agent is for people.
    defaultHeaders: { 'user-agent': `svc-cli/${CLI_VERSION}`, 'x-svc-client': 'cli', ...approvalOf(io) },
    timeoutMs: Math.min(options.timeoutMs ?? REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_MS),
    maxRetries: options.maxRetries,
    fetch: options.fetch ?? fetchOf(io, connection.baseUrl),
    debug: options.debug,
    logger: {
      debug: (message, details) => {
        const line = details === undefined ? message : `${message} ${JSON.stringify(details)}`;
        void io.stderr.write(`debug: ${neutraliseLine(line)}\n`);
      },
    },
  });
}

/** An agent shows the approval of a person with the call that it is for. */
function approvalOf({ env }: Io): Readonly<Record<string, string>> {
  const token = nonEmpty(env['SVC_APPROVAL']);
  if (token === undefined) return {};
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new UsageError('the token in SVC_APPROVAL holds spaces or control characters');
  return { 'svc-approval': token };
}

/** Returns the address without a trailing slash, as the SDK takes it. */
export function checkedAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.search !== '' ||
    url.hash !== '' ||
    url.username !== ''
  )
    throw new UsageError(
      `the base URL must be an http or https address such as https://svc.example.com, got "${text}"`,
    );
  return url.href.replace(/\/+$/, '');
}

/** Returns true if a password sent there could be read on the way. */
export function isExposed(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

function givenCredential(
  io: Io,
  globals: WantedConnection,
): { credential: string; source: string } | undefined {
  const candidates = [
    ['--api-key', globals.apiKey],
    ['SVC_API_KEY', nonEmpty(io.env['SVC_API_KEY'])],
    ['SVC_TOKEN', nonEmpty(io.env['SVC_TOKEN'])],
  ] as const;
  for (const [source, credential] of candidates) {
    if (credential === undefined) continue;
    // Anything else cannot be a header value; most often it is a key with its line break or its quotes.
    if (!/^[\x21-\x7e]+$/.test(credential))
      throw new UsageError(`the credential in ${source} holds spaces or control characters`);
    return { credential, source };
  }
  return undefined;
}

function findProfile(config: Config, name: string): Profile | undefined {
  return Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
}

function unknownProfile(name: string, config: Config): UsageError {
  const known = Object.keys(config.profiles).sort();
  return new UsageError(`there is no profile "${name}"`, {
    hints: [
      ...meantHints(name, known),
      known.length === 0
        ? `no profile is stored; "svc auth login --profile ${name}" makes one`
        : `profiles: ${known.join(', ')}`,
    ],
  });
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
