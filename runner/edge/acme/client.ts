/**
 * This file is the conversation with an authority by RFC 8555. It knows the directory, nonces, and the one
 * account of this runner, which signs all requests. Paths come from the directory alone, and each reply has a
 * limit of time and size.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { isHttps } from './directory-url.ts';
import type { HttpClient, HttpReply } from '../../control-plane/http-client.ts';
import { readIfThere, writeDurably } from '../../disk/durable-file.ts';
import { boundTo, publicJwk, signedWith, thumbprint } from './jose.ts';
import { AcmeError, problemOfReply } from './problem.ts';

const TIMEOUT_MS = 20_000;
const REPLY_BYTES_MAX = 512 * 1_024;
/** Each reply with `badNonce` brings a fresh nonce, so that more than a few in a row are a fault. */
const NONCE_TRIES_MAX = 12;
/** A nonce that nobody used is kept for the next request; authorities forget them after minutes to hours. */
const NONCES_MAX = 10;

export interface AcmeOptions {
  /** Folder of the account: its key and what the authority called it. */
  dir: string;
  directory: string;
  contact?: string;
  /** The external account to which ours is bound. */
  external?: { kid: string; hmacKey: string };
  http: HttpClient;
  nowMs: () => number;
  signal: AbortSignal;
}

export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  /** It is absent where the authority does not say when to renew (RFC 9773). */
  renewalInfo?: string;
}

interface Account {
  directory: string;
  kid: string;
}

/** Makes the key of the account, once for all times: a new one would count against the authority's limits. */
export async function accountKey(dir: string): Promise<KeyObject> {
  const path = join(dir, 'account.key');
  const kept = readIfThere(path);
  if (kept !== undefined) return createPrivateKey(kept);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeDurably(path, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  return privateKey;
}

/** Exchanges requests with nonces, of which each serves once. */
function createSession(options: AcmeOptions, key: KeyObject) {
  const { http, nowMs, signal } = options;
  const nonces: string[] = [];
  let directory: Directory | undefined;

  const exchange = async (method: 'GET' | 'POST', url: string, body?: object): Promise<HttpReply> => {
    const reply = await http.send({
      method,
      url: new URL(url),
      timeoutMs: TIMEOUT_MS,
      bytesMax: REPLY_BYTES_MAX,
      signal,
      headers: { 'user-agent': 'svc-runner', 'content-type': 'application/jose+json' },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    });
    const nonce = reply.headers['replay-nonce'];
    if (typeof nonce === 'string' && nonces.length < NONCES_MAX) nonces.push(nonce);
    return reply;
  };
  const getDirectory = async (): Promise<Directory> => {
    if (directory !== undefined) return directory;
    const reply = await exchange('GET', options.directory);
    if (reply.status !== 200) throw problemOfReply(reply, nowMs());
    return (directory = directoryIn(jsonOf(reply)));
  };
  const freshNonce = async (): Promise<string> => {
    if (nonces.length === 0) await exchange('GET', (await getDirectory()).newNonce);
    const nonce = nonces.shift();
    if (nonce === undefined)
      throw new AcmeError({ type: 'malformed', detail: 'the authority gave no nonce' });
    return nonce;
  };
  const send = async (url: string, header: object, payload: object | undefined): Promise<HttpReply> => {
    for (let tries = 1; ; tries += 1) {
      const nonce = await freshNonce();
      const reply = await exchange('POST', url, signedWith(key, { ...header, nonce, url }, payload));
      if (reply.status < 400) return reply;
      const error = problemOfReply(reply, nowMs());
      if (error.document.type !== 'badNonce' || tries >= NONCE_TRIES_MAX) throw error;
    }
  };
  return {
    exchange,
    directory: getDirectory,
    send,
    /** An authority that was away may be back with other paths. */
    forgetDirectory: () => void (directory = undefined),
  };
}

export async function openAcme(options: AcmeOptions) {
  const key = await accountKey(options.dir);
  const jwk = publicJwk(key);
  const account = accountOf(options);
  const { exchange, send, directory, forgetDirectory } = createSession(options, key);
  const register = async (): Promise<string> => {
    const { newAccount } = await directory();
    const { contact, external } = options;
    const payload = {
      termsOfServiceAgreed: true,
      ...(contact === undefined ? {} : { contact: [`mailto:${contact}`] }),
      ...(external === undefined ? {} : { externalAccountBinding: boundTo(external, newAccount, jwk) }),
    };
    const reply = await send(newAccount, { jwk }, payload);
    const kid = reply.headers.location;
    if (kid === undefined) throw new AcmeError({ type: 'malformed', detail: 'the account has no location' });
    await account.keep(kid);
    return kid;
  };
  /** Calls that come together wait for one account. */
  let registering: Promise<string> | undefined;
  const kidOf = async (): Promise<string> => {
    const known = account.kid();
    if (known !== undefined) return known;
    registering ??= register().finally(() => (registering = undefined));
    return await registering;
  };
  /** Sends a signed request; without a payload it is a POST-as-GET. */
  const post = async (url: string, payload?: object): Promise<HttpReply> => {
    const kid = await kidOf();
    try {
      return await send(url, { kid }, payload);
    } catch (error) {
      // The authority lost its accounts, or this folder was moved to another one.
      if (!(error instanceof AcmeError) || error.document.type !== 'accountDoesNotExist') throw error;
      await account.forget(kid);
      return await send(url, { kid: await kidOf() }, payload);
    }
  };
  return {
    directory,
    post,
    /** Sends a request without a signature, as for renewal information. */
    get: async (url: string): Promise<HttpReply> => await exchange('GET', url),
    keyAuthorization: (token: string) => `${token}.${thumbprint({ ...jwk })}`,
    forgetDirectory,
  };
}

export type Acme = Awaited<ReturnType<typeof openAcme>>;

function accountOf({ dir, directory }: AcmeOptions) {
  const path = join(dir, 'account.json');
  let kept = parsedAccount(readIfThere(path));
  return {
    kid: () => (kept?.directory === directory ? kept.kid : undefined),
    async keep(kid: string): Promise<void> {
      kept = { directory, kid };
      await writeDurably(path, JSON.stringify(kept));
    },
    /** Another call may have registered meanwhile. */
    forget: async (kid: string): Promise<void> => {
      if (kept?.kid === kid) kept = undefined;
    },
  };
}

function parsedAccount(text: string | undefined): Account | undefined {
  try {
    const { directory, kid } = JSON.parse(text ?? '{}') as Partial<Account>;
    return directory === undefined || kid === undefined ? undefined : { directory, kid };
  } catch {
    return undefined; // Nothing is lost: the authority finds the account by its key.
  }
}

export function jsonOf(reply: Pick<HttpReply, 'body'>): Record<string, unknown> {
  try {
    return JSON.parse(reply.body.toString()) as Record<string, unknown>;
  } catch {
    throw new AcmeError({ type: 'malformed', detail: 'the reply of the authority is no JSON' });
  }
}

function directoryIn(json: Record<string, unknown>): Directory {
  const { newNonce, newAccount, newOrder, renewalInfo } = json;
  if (!isHttps(newNonce) || !isHttps(newAccount) || !isHttps(newOrder))
    throw new AcmeError({ type: 'malformed', detail: 'the directory of the authority names no resources' });
  return { newNonce, newAccount, newOrder, ...(isHttps(renewalInfo) && { renewalInfo }) };
}
