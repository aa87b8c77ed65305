/**
 * The part of the OCI distribution API that tells whether one may push: sign in, begin an upload, discard it.
 */
import {
  TransportError,
  type HttpClient,
  type HttpReply,
  type HttpRequest,
} from '../../control-plane/http-client.ts';
import type { Credentials } from './credentials.ts';
import { errorText } from '../../platform/errors.ts';

export interface RegistryTarget {
  host: string;
  /** Empty when there is none. */
  namespace: string;
}

export class RegistryError extends Error {
  override readonly name = 'RegistryError';
  readonly kind: 'unreachable' | 'refused' | 'odd';

  constructor(kind: RegistryError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface RegistryClient {
  readonly origin: string;
  readonly repository: string;
  /** Signs in and proves the right to push; leaves nothing behind. */
  begin(): Promise<void>;
  /**
   * Makes a signed-in call about the repository. `path` is the part after `/v2/<repository>/`, or a whole
   * address.
   */
  send(method: HttpRequest['method'], path: string, request?: SendOptions): Promise<HttpReply>;
}

export interface SendOptions {
  body?: Uint8Array;
  contentType?: string;
  accept?: string;
}

const ATTEMPT_MS = 15_000;
const REPLY_BYTES_MAX = 1_048_576;
const IMAGE = 'svc-runner-doctor';

/** Reads `registry.example.com:5000/acme/web`. */
export function parseTarget(text: string): RegistryTarget {
  const [host = '', ...rest] = text.replace(/^https?:\/\//, '').split('/');
  const namespace = rest.filter((part) => part !== '').join('/');
  if (!/^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9a-fA-F:]+\](:\d{1,5})?$/.test(host))
    throw new RegistryError('odd', `${JSON.stringify(text)} is no registry host`);
  if (namespace !== '' && !/^[a-z0-9._/-]+$/.test(namespace))
    throw new RegistryError(
      'odd',
      `${JSON.stringify(namespace)} is no namespace: lower-case letters, digits, . _ - /`,
    );
  return { host, namespace };
}

/** Plain http is used for loopback only, as in builds. */
function originOf({ host }: RegistryTarget): string {
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/.test(host);
  // Docker Hub's API has another host name than its images.
  return `${local ? 'http' : 'https'}://${host === 'docker.io' ? 'registry-1.docker.io' : host}`;
}

export function createRegistryClient(options: {
  target: RegistryTarget;
  http: HttpClient;
  credentials: Credentials | undefined;
}): RegistryClient {
  const { target, http, credentials } = options;
  const origin = originOf(target);
  const repository = target.namespace === '' ? IMAGE : `${target.namespace}/${IMAGE}`;
  let authorization: string | undefined;

  const raw = async (method: HttpRequest['method'], url: URL, sent: SendOptions = {}): Promise<HttpReply> => {
    try {
      return await http.send({
        method,
        url,
        timeoutMs: ATTEMPT_MS,
        bytesMax: REPLY_BYTES_MAX,
        ...(sent.body === undefined ? {} : { body: sent.body }),
        headers: {
          // Credentials are not sent to other hosts, to which an upload may lead.
          ...(authorization === undefined || url.origin !== origin ? {} : { authorization }),
          ...(sent.accept === undefined ? {} : { accept: sent.accept }),
          ...(sent.contentType === undefined ? {} : { 'content-type': sent.contentType }),
        },
      });
    } catch (error) {
      if (error instanceof TransportError)
        throw new RegistryError('unreachable', `${origin}: ${error.message}`);
      throw error;
    }
  };

  const signIn = async (): Promise<void> => {
    const reply = await raw('GET', new URL(`${origin}/v2/`));
    if (reply.status === 200) return;
    if (reply.status !== 401) throw new RegistryError('odd', `${origin}/v2/ answers ${reply.status}`);
    const challenge = String(reply.headers['www-authenticate'] ?? '');
    if (/^basic/i.test(challenge)) authorization = credentials === undefined ? undefined : basic(credentials);
    else authorization = await bearer({ http, origin, repository, challenge, credentials });
  };

  const send: RegistryClient['send'] = async (method, path, sent) =>
    await raw(method, new URL(path, `${origin}/v2/${repository}/`), sent);

  return {
    origin,
    repository,
    send,
    async begin() {
      await signIn();
      const reply = await send('POST', 'blobs/uploads/');
      requireStatus(reply, 202, { what: `a push to ${repository}`, origin });
      const upload = reply.headers.location;
      if (upload !== undefined) await send('DELETE', upload);
    },
  };
}

interface BearerOptions {
  http: HttpClient;
  origin: string;
  repository: string;
  challenge: string;
  credentials: Credentials | undefined;
}

/** Gets a token from the service that the registry names. */
async function bearer({ http, origin, repository, challenge, credentials }: BearerOptions): Promise<string> {
  const named = parameter(challenge, 'realm');
  if (!/^bearer/i.test(challenge) || named === undefined || !URL.canParse(named))
    throw new RegistryError(
      'odd',
      `${origin} asks for credentials in a way that is not known: ${challenge || 'none'}`,
    );
  const realm = new URL(named);
  if (realm.protocol !== 'https:' && origin.startsWith('https:'))
    throw new RegistryError('odd', `${origin} wants credentials sent to ${realm.origin}, without TLS`);
  const service = parameter(challenge, 'service');
  if (service !== undefined) realm.searchParams.set('service', service);
  realm.searchParams.set('scope', `repository:${repository}:pull,push`);
  const headers: Record<string, string> =
    credentials === undefined ? {} : { authorization: basic(credentials) };
  const reply = await http
    .send({ method: 'GET', url: realm, timeoutMs: ATTEMPT_MS, bytesMax: REPLY_BYTES_MAX, headers })
    .catch((error: unknown) => {
      const why = errorText(error);
      throw new RegistryError('unreachable', `${realm.origin}: ${why}`);
    });
  if (reply.status !== 200)
    throw new RegistryError('refused', `${realm.origin} gives no token for ${repository}: ${reply.status}`);
  const answer = JSON.parse(reply.body.toString()) as { token?: string; access_token?: string };
  return `Bearer ${answer.token ?? answer.access_token ?? ''}`;
}

/** `what` was sent to the registry at `origin`. */
export function requireStatus(
  reply: HttpReply,
  wanted: number,
  { what, origin }: { what: string; origin: string },
): void {
  if (reply.status === wanted) return;
  const refused = [401, 403, 405].includes(reply.status);
  throw new RegistryError(
    refused ? 'refused' : 'odd',
    `${origin} ${refused ? 'refuses' : 'does not take'} ${what}: ${reply.status}${errorIn(reply)}`,
  );
}

function errorIn(reply: HttpReply): string {
  try {
    const { errors } = JSON.parse(reply.body.toString()) as {
      errors?: { code?: string; message?: string }[];
    };
    return errors?.[0] === undefined ? '' : ` ${errors[0].code}: ${errors[0].message}`;
  } catch {
    return ''; // Not every refusal has a body in JSON.
  }
}

function basic({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function parameter(challenge: string, name: string): string | undefined {
  return new RegExp(`${name}="([^"]*)"`, 'i').exec(challenge)?.[1];
}
