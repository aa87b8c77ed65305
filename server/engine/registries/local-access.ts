/**
 * This file decides who reads and writes what in the service's local registry. A build gets a credential with
 * its lease; for it the registry's token protocol (distribution.github.io/distribution/spec/auth/token) gives
 * tokens that are good for the images of the build's team, and for nothing else. With the lease ends the
 * credential.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { randomUUID, timingSafeEqual } from 'node:crypto';
import type { Endpoint, EndpointRequest, PageResponse } from '@svc/proto/http/pages.ts';
import type { LeaseCredential } from './image-targets.ts';
import type { Clock } from '../../base/clock.ts';
import type { SqlTag } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Access as RegistryAccess } from './own-registry.ts';
import {
  createTokenSigner,
  keepRootCertificate,
  rootCertificateFile,
  type TokenSigner,
} from './token-signer.ts';

/** As the registry is configured: `auth.token.service` and `auth.token.issuer`. */
const SERVICE = 'svc-registry';
const ISSUER = 'svc';
/** A token is asked for anew within one push, so it need not live long. */
const TOKEN_SECONDS = 300;
/** The registry's clock may be behind. */
const SKEW_SECONDS = 60;
const SCOPES_MAX = 20;
const ACTIONS = ['pull', 'push'];
const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export interface LocalRegistryDeps {
  readonly sql: SqlTag;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'mac'>;
  /** Gets `registry/tokens.crt`, which the registry must be given. */
  readonly dataDir: string;
}

type Access = LocalRegistryDeps & { readonly signer: TokenSigner };

export interface LocalRegistryAccess {
  /** User name and password of one lease. */
  readonly leaseCredential: LeaseCredential;
  /** `GET /registry/token`, which is no RPC: the protocol is the registry's. */
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

export function createLocalRegistry(deps: LocalRegistryDeps): LocalRegistryAccess {
  const { secrets, dataDir } = deps;
  const signer = createTokenSigner(secrets);
  keepRootCertificate(signer, dataDir);
  const access = { ...deps, signer };
  return {
    leaseCredential: (teamId, { workId, epoch }) => ({
      username: teamId,
      password: `${workId}.${epoch}.${macOf(secrets, [teamId, workId, epoch])}`,
    }),
    endpoints: {
      '/registry/token': { verbs: ['GET'], serve: async (request) => await answer(access, request) },
    },
  };
}

/** Returns what a registry that the server starts is told: whose tokens it believes. */
export function accessOfOwn(
  { secrets, dataDir }: Pick<LocalRegistryDeps, 'secrets' | 'dataDir'>,
  baseUrl: string,
): RegistryAccess {
  return {
    realm: `${baseUrl}/registry/token`,
    service: SERVICE,
    issuer: ISSUER,
    certificate: rootCertificateFile(dataDir),
    uploads: Buffer.from(secrets.mac('registry.uploads', 'own')).toString('base64url'),
  };
}

async function answer(deps: Access, { query, header }: EndpointRequest): Promise<PageResponse> {
  const teamId = await teamOf(deps, header('authorization'));
  if (teamId === undefined)
    return refuse(401, 'the local registry takes the credential of a build that is under way, and no other', {
      'www-authenticate': 'Basic realm="svc local registry"',
    });
  const asked = new URLSearchParams(query);
  const service = asked.get('service');
  if (service !== SERVICE)
    return refuse(400, `service is ${JSON.stringify(service?.slice(0, 100))}, expected "${SERVICE}"`);
  const scopes = asked.getAll('scope').flatMap((scope) => scope.split(' '));
  if (scopes.length > SCOPES_MAX)
    return refuse(400, `${scopes.length} scopes are asked for, at most ${SCOPES_MAX} are answered`);
  const now = Math.floor(deps.clock.now().getTime() / 1_000);
  const token = deps.signer.sign({
    iss: ISSUER,
    sub: teamId,
    aud: SERVICE,
    iat: now,
    nbf: now - SKEW_SECONDS,
    exp: now + TOKEN_SECONDS,
    jti: randomUUID(),
    access: scopes.flatMap((scope) => accessOf(scope, teamId)),
  });
  const issued = new Date(now * 1_000).toISOString();
  const body = { token, access_token: token, expires_in: TOKEN_SECONDS, issued_at: issued };
  return { headers: HEADERS, body: JSON.stringify(body) };
}

/**
 * Returns what the team may have of one scope, `repository:<name>:<actions>`; the registry refuses what is
 * missing.
 */
function accessOf(scope: string, teamId: string): Array<{ type: string; name: string; actions: string[] }> {
  const [, name = '', wanted = ''] = /^repository:(.+):([a-z*,]*)$/.exec(scope) ?? [];
  if (!name.startsWith(`${teamId}/`)) return [];
  const actions = ACTIONS.filter((action) => wanted.split(',').includes(action));
  return actions.length === 0 ? [] : [{ type: 'repository', name, actions }];
}

/** Returns undefined when there is no credential, it is not ours, or its lease is over. */
async function teamOf(
  { sql, secrets }: Access,
  authorization: string | undefined,
): Promise<string | undefined> {
  const [, encoded = ''] = /^Basic ([A-Za-z0-9+/]{1,1000}={0,2})$/i.exec(authorization ?? '') ?? [];
  const [, teamId = '', workId = '', epoch = '', mac = ''] =
    /^(\w+):(\w+)\.(\d{1,15})\.([\w-]+)$/.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? [];
  const [given, right] = [mac, macOf(secrets, [teamId, workId, Number(epoch)])].map((text) =>
    Buffer.from(text),
  );
  if (given === undefined || right === undefined || given.length !== right.length) return undefined;
  if (!timingSafeEqual(given, right)) return undefined;
  const [held] = await sql<Array<{ id: string }>>`
    select x.work_id as id from work_leases x
    where x.work_id = ${workId} and x.team_id = ${teamId} and x.epoch = ${epoch}::bigint and x.ended_at is null
      and x.expires_at > clock_timestamp()`;
  return held === undefined ? undefined : teamId;
}

function macOf(secrets: Pick<Secrets, 'mac'>, parts: readonly [string, string, number]): string {
  return Buffer.from(secrets.mac('registry.lease', parts.join(' '))).toString('base64url');
}

function refuse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): PageResponse {
  const code = status === 401 ? 'UNAUTHORIZED' : 'UNSUPPORTED';
  return {
    status,
    headers: { ...HEADERS, ...headers },
    body: JSON.stringify({ errors: [{ code, message }] }),
  };
}
