import { describe, expect, it } from 'vitest';
import { SafeFetchError, type SafeRequest, type SafeResponse } from '../../../base/safe-fetch.ts';
import type { HostedRepository } from './forge.ts';
import type { ForgeId } from '../words.ts';
import { forgeApi, ForgeError } from './call.ts';

const HOSTS: Readonly<Record<ForgeId, readonly [host: string, path: string]>> = {
  github: ['github.com', 'acme/app'],
  gitlab: ['gitlab.com', 'acme/sub/app'],
  bitbucket: ['bitbucket.org', 'acme/app'],
  azure: ['dev.azure.com', 'acme/my shop/_git/app'],
};

/** Asks a host that gives one answer. */
async function ask(
  forge: ForgeId,
  answer: Partial<SafeResponse> | Error,
  { token = 'the-token', ...more }: Partial<HostedRepository> = {},
) {
  const sent: SafeRequest[] = [];
  const [repositoryHost, repositoryPath] = HOSTS[forge];
  const connection = {
    id: 'cic_1',
    provider: 'jenkins',
    forge: null,
    apiUrl: null,
    repositoryHost,
    repositoryPath,
    token,
    ...more,
  };
  const api = forgeApi(
    {
      secrets: { open: (_where, sealed) => Buffer.from(sealed) },
      fetch: async (request) => {
        sent.push(request);
        if (answer instanceof Error) throw answer;
        return await Promise.resolve({ status: 200, headers: {}, body: Buffer.from('{}'), ...answer });
      },
    },
    connection as HostedRepository,
  );
  const outcome = await api.call({ path: api.repositoryBase }).then(
    (said) => said.json(),
    (error: unknown) => error as ForgeError,
  );
  return { outcome, sent: sent[0] };
}
interface Answered {
  readonly status: number;
  readonly headers?: SafeResponse['headers'];
  readonly body?: string;
}

const refused = async (
  forge: ForgeId,
  { status, headers = {}, body = '' }: Answered,
): Promise<ForgeError> => {
  const { outcome } = await ask(forge, { status, headers, body: Buffer.from(body) });
  if (!(outcome instanceof ForgeError)) throw new Error('nothing was refused');
  return outcome;
};
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

describe('forgeApi()', () => {
  it.each([
    ['github', 'https://api.github.com/repos/acme/app', 'authorization', 'Bearer the-token'],
    ['gitlab', 'https://gitlab.com/api/v4/projects/acme%2Fsub%2Fapp', 'private-token', 'the-token'],
    ['bitbucket', 'https://api.bitbucket.org/2.0/repositories/acme/app', 'authorization', 'Bearer the-token'],
    [
      'azure',
      'https://dev.azure.com/acme/my%20shop/_apis/git/repositories/app',
      'authorization',
      `Basic ${Buffer.from(':the-token').toString('base64')}`,
    ],
  ] as const)('asks %s where its API is, with its kind of credential', async (forge, url, header, value) => {
    const { sent } = await ask(forge, {});
    expect(sent).toMatchObject({ method: 'GET', url, headers: { [header]: value } });
  });

  it('asks hosts of one’s own by their usual path, or where it was told to', async () => {
    const own = await ask('github', {}, { repositoryHost: 'git.example.com', forge: 'github' });
    expect(own.sent?.url).toBe('https://git.example.com/api/v3/repos/acme/app');
    const told = await ask('gitlab', {}, { apiUrl: 'https://git.example.com/gl/api/v4/' });
    expect(told.sent?.url).toBe('https://git.example.com/gl/api/v4/projects/acme%2Fsub%2Fapp');
    const password = await ask('bitbucket', {}, { token: 'user:password' });
    expect(password.sent?.headers?.['authorization']).toBe(
      `Basic ${Buffer.from('user:password').toString('base64')}`,
    );
  });

  it('says what a refusal means', async () => {
    const problems = [
      [400, 'refused', false],
      [401, 'unauthorised', false],
      [403, 'forbidden', false],
      [404, 'not_found', false],
      [408, 'provider_unavailable', true],
      [422, 'refused', false],
      [429, 'rate_limited', true],
      [500, 'provider_unavailable', true],
      [503, 'provider_unavailable', true],
    ] as const;
    for (const [status, problem, passing] of problems)
      expect(await refused('github', { status }), String(status)).toMatchObject({
        status,
        problem,
        isFinal: !passing,
      });
    expect((await refused('github', { status: 301 })).message).toContain('was the repository moved?');
  });

  it.each([
    ['seconds', 429, { 'retry-after': '90' }, 90_000],
    ['a date', 503, { 'retry-after': new Date(Date.now() + 600_000).toUTCString() }, 600_000],
    ['no longer than an hour', 429, { 'retry-after': '999999' }, 3_600_000],
    ['nothing for a date that is over', 429, { 'retry-after': new Date(0).toUTCString() }, 0],
    [
      'until a limit begins anew',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inSeconds(120)) },
      120_000,
    ],
    [
      'the same of GitLab',
      429,
      { 'ratelimit-remaining': '0', 'ratelimit-reset': String(inSeconds(60)) },
      60_000,
    ],
    ['a secondary limit', 403, { 'retry-after': '60' }, 60_000],
  ] as const)('waits as it is asked to: %s', async (_name, status, headers, ms) => {
    const error = await refused('github', { status, headers });
    expect(error.isFinal).toBe(false);
    // Dates have no parts of a second, and the test takes time.
    expect(Math.abs((error.retryInMs ?? -1) - ms)).toBeLessThan(10_000);
  });

  it('waits for a minute when only the words tell a limit', async () => {
    const body = '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes."}';
    expect(await refused('github', { status: 403, body })).toMatchObject({
      problem: 'rate_limited',
      retryInMs: 60_000,
    });
  });

  it('takes a limit with room left for what it is', async () => {
    const left = { 'x-ratelimit-remaining': '4999', 'x-ratelimit-reset': String(inSeconds(60)) };
    expect(await refused('github', { status: 403, headers: left })).toMatchObject({
      problem: 'forbidden',
      retryInMs: undefined,
    });
  });

  it('repeats the host in its own words, without the token and what cannot be stored', async () => {
    const words = [
      [
        '{"message":"Validation Failed","errors":[{"message":"too long"},"also"]}',
        'Validation Failed, too long, also',
      ],
      ['{"error":{"message":"Commit not found"}}', 'Commit not found'],
      ['{"error":"invalid_token"}', 'invalid_token'],
      ['{"message":{"base":["is taken"]}}', '{"base":["is taken"]}'],
      [JSON.stringify({ message: 'you sent the-token\u0000 \ud800' }), 'you sent …'],
    ] as const;
    for (const [body, said] of words)
      expect((await refused('gitlab', { status: 400, body })).message).toMatch(
        new RegExp(`400: ${said.replace(/[{}[\]]/g, '\\$&')}$`),
      );
    expect((await refused('gitlab', { status: 502, body: '<html>Bad gateway</html>' })).message).toMatch(
      /answered with 502$/,
    );
    expect(
      (await refused('gitlab', { status: 400, body: JSON.stringify({ message: 'x'.repeat(5_000) }) })).message
        .length,
    ).toBeLessThan(500);
  });

  it('knows the page that Azure shows in place of a refusal', async () => {
    expect(await refused('azure', { status: 203, body: '<html>' })).toMatchObject({
      problem: 'unauthorised',
    });
    expect(await refused('azure', { status: 302 })).toMatchObject({ problem: 'unauthorised' });
  });

  it('says what became of a call without an answer', async () => {
    const problems = [
      ['blocked', 'unsupported_host', false],
      ['too_large', 'answer_invalid', false],
      ['timeout', 'provider_unavailable', true],
      ['network', 'provider_unavailable', true],
    ] as const;
    for (const [of, problem, passing] of problems) {
      const { outcome } = await ask('github', new SafeFetchError(of, 'as it is'));
      expect(outcome).toMatchObject({ problem, isFinal: !passing });
    }
    const { outcome } = await ask('github', { body: Buffer.from('no JSON') }).catch((error: unknown) => ({
      outcome: error,
    }));
    expect(outcome).toMatchObject({ problem: 'answer_invalid' });
  });

  it('asks nobody when it is not known what the host is', () => {
    const connection = {
      provider: 'jenkins',
      repositoryHost: 'git.example.com',
      forge: null,
    } as HostedRepository;
    const deps = {
      secrets: { open: () => Buffer.from('') },
      fetch: async () => await Promise.reject(new Error()),
    };
    expect(() => forgeApi(deps, connection)).toThrow(
      expect.objectContaining({ problem: 'unsupported_host' }),
    );
  });
});
