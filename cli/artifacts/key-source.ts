/** Reads keys to verify with, from a file, an address or the server in use. */
import { readFileUpTo, readUpTo } from '../shell/bytes.ts';
import type { Context } from '../shell/command.ts';
import { isExposed } from '../shell/connection.ts';
import { CliError, UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { fetchOf } from '../shell/proxied-fetch.ts';
import { keysOf, parseKeys, type VerificationKey } from './keys.ts';

/** A key of the service takes some 700 bytes in the list. */
const BYTES_MAX = 1_048_576;
const ANSWER_MS = 30_000;

export const KEYS_ARG = {
  type: 'string',
  valueHint: 'path|url',
  description:
    'Public keys: a file or an https address with the list of /signing-keys, a JWK set, or PEM. Default: /signing-keys of the server in use.',
} as const;

/** Reads the keys of `given`, a file or an address, or asks the server in use where it is undefined. */
export async function findKeys(
  context: Context,
  given: string | undefined,
): Promise<readonly VerificationKey[]> {
  if (given === undefined) return await keysOfServer(context);
  const isAddress = /^https?:\/\//i.test(given);
  const bytes = isAddress
    ? await fetched(context, given)
    : await readFileUpTo(given, { flag: 'keys', bytesMax: BYTES_MAX, signal: context.signal });
  if (bytes.length > BYTES_MAX)
    throw new UsageError(`${given} has more than ${BYTES_MAX} bytes, which is the most that is read of keys`);
  return parseKeys(bytes.toString(), given);
}

async function keysOfServer(context: Context): Promise<readonly VerificationKey[]> {
  const { signal, output } = context;
  const { baseUrl } = await context.connection();
  if (isExposed(baseUrl))
    await output.note(`warning: ${baseUrl} is not encrypted; others on the way can change its keys`);
  const client = await context.client();
  const answer = await client.call<unknown>({ method: 'GET', path: '/signing-keys' }, {}, { signal });
  return keysOf(answer, `${baseUrl}/signing-keys`);
}

/** Sends no credential, because the address may be anybody's. */
async function fetched({ io, signal }: Context, address: string): Promise<Buffer> {
  if (!URL.canParse(address) || isExposed(address))
    throw new UsageError(`--keys is "${address}", expected a file or an https address`);
  const ended = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  const unreadable = (why: string, cause?: unknown) =>
    new CliError('keys_unreadable', `cannot read the keys of ${address}: ${why}`, {
      exitCode: EXIT.unreachable,
      cause,
    });
  let response: Response;
  try {
    response = await fetchOf(io, address)(address, { redirect: 'manual', signal: ended });
    if (response.status === 200 && response.body !== null) return await readUpTo(response.body, BYTES_MAX);
  } catch (error) {
    signal.throwIfAborted();
    throw unreadable((error as Error).message, error);
  }
  throw unreadable(`it answered ${response.status}, expected 200`);
}
