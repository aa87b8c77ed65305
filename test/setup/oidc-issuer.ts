/**
 * GitHub's and GitLab's issuers of id_tokens on loopback: their keys, tokens with whatever claims and headers
 * a test wants, and the address at which a GitHub job asks for one. What they answer for their keys can be
 * changed.
 */
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { onLoopback } from './listen.ts';

export type Claims = Readonly<Record<string, unknown>>;
export type IssuerName = 'github' | 'gitlab';

export interface SignOptions {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: CryptoKey;
  /** Default: now. */
  readonly at?: Date;
}

export type OidcIssuers = Awaited<ReturnType<typeof startOidcIssuers>>;

export const AUDIENCE = 'https://svc.test';
const REQUEST_TOKEN = 'request-token-of-the-job';

export async function startOidcIssuers() {
  const reads = { github: 0, gitlab: 0 };
  const minted: string[] = [];
  let mints: Claims = githubClaims();
  let answer: ((response: ServerResponse) => void) | undefined;
  let generation = 0;
  let pair = await newPair(generation);

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://issuer');
    const [, name = '', what = ''] = url.pathname.split('/');
    if (what === 'jwks') {
      reads[name as IssuerName] += 1;
      if (answer !== undefined) return answer(response);
      return json(response, 200, { keys: [pair.jwk] });
    }
    const asks = what === 'token' && request.headers.authorization === `Bearer ${REQUEST_TOKEN}`;
    if (!asks) return json(response, 401, { message: 'no' });
    void sign('github', { ...mints, aud: url.searchParams.get('audience') }).then((value) => {
      minted.push(value);
      json(response, 200, { value });
    });
  });
  const { url, close } = await onLoopback(server);

  const sign = async (
    name: IssuerName,
    claims: Claims,
    { header, key, at = new Date() }: SignOptions = {},
  ): Promise<string> => {
    const now = Math.floor(at.getTime() / 1_000);
    return await new SignJWT({
      iss: `${url}/${name}`,
      aud: AUDIENCE,
      iat: now,
      nbf: now - 5,
      exp: now + 300,
      jti: crypto.randomUUID(),
      ...claims,
    })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: pair.kid, ...header })
      .sign(key ?? pair.privateKey);
  };

  return {
    url,
    /** Settings of a server that takes their tokens. */
    env: {
      OIDC_ISSUERS: (['github', 'gitlab'] as const)
        .map((name) => `${name}=${url}/${name} ${url}/${name}/jwks`)
        .join(','),
      OIDC_AUDIENCE: AUDIENCE,
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    },
    /** Environment of a GitHub job that may ask for tokens. They have the claims that `mints` was given. */
    githubEnv: {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/github/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
    },
    /** Returns how often the keys were read. */
    reads: (name: IssuerName): number => reads[name],
    /** Tokens that jobs asked for are kept in order. */
    minted,
    mints: (claims: Claims) => void (mints = claims),
    publicJwk: () => pair.jwk,
    /** There is another key from now on, under another id. */
    rotate: async () => void (pair = await newPair((generation += 1))),
    /** Answers what the test has given in place of the keys. With undefined the keys are answered again. */
    answerKeys: (next: typeof answer) => void (answer = next),
    sign,
    close,
  };
}

async function newPair(generation: number) {
  const kid = `key-${generation}`;
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk: JWK = { ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' };
  return { kid, privateKey, jwk };
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export const SHA = 'a'.repeat(40);

/** As GitHub Actions writes them, all as text. */
export function githubClaims(more: Claims = {}): Claims {
  return {
    sub: 'repo:acme@1/app@2:ref:refs/heads/main',
    repository: 'acme/app',
    repository_id: '1001',
    repository_owner: 'acme',
    repository_owner_id: '11',
    repository_visibility: 'private',
    run_id: '5001',
    run_number: '7',
    run_attempt: '1',
    event_name: 'push',
    sha: SHA,
    ref: 'refs/heads/main',
    ref_type: 'branch',
    ref_protected: 'true',
    head_ref: '',
    base_ref: '',
    actor: 'octocat',
    actor_id: '12',
    workflow: 'CI',
    workflow_ref: 'acme/app/.github/workflows/ci.yml@refs/heads/main',
    job_workflow_ref: 'acme/shared/.github/workflows/build.yml@refs/heads/main',
    runner_environment: 'github-hosted',
    ...more,
  };
}

/** As GitLab.com writes them; the runner's id is a number, all else text. */
export function gitlabClaims(more: Claims = {}): Claims {
  return {
    sub: 'project_path:acme/app:ref_type:branch:ref:main',
    namespace_id: '21',
    namespace_path: 'acme',
    project_id: '2001',
    project_path: 'acme/app',
    job_namespace_id: '21',
    job_namespace_path: 'acme',
    job_project_id: '2001',
    job_project_path: 'acme/app',
    user_id: '3',
    user_login: 'sam',
    pipeline_id: '9001',
    pipeline_source: 'push',
    job_id: '77',
    ref: 'main',
    ref_type: 'branch',
    ref_path: 'refs/heads/main',
    ref_protected: 'true',
    runner_id: 1,
    sha: SHA,
    ci_config_ref_uri: 'gitlab.com/acme/app//.gitlab-ci.yml@refs/heads/main',
    ...more,
  };
}
