/**
 * `svc ci report` without a stored key, against a fake API that is also the one that gives a GitHub job its
 * id_tokens.
 */
import { describe, expect, it } from 'vitest';
import { run } from '../shell/run.ts';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';

const PATH = { PATH: process.env['PATH'] ?? '', SVC_API_KEY: '' };
const GITLAB = { ...PATH, GITLAB_CI: 'true', CI_PIPELINE_ID: '9', SVC_ID_TOKEN: 'eyJ.the.idtoken' };
const base = ['ci', 'report', '--connection', 'cic_1'];

const api = await useFakeApi();
const github = {
  ...PATH,
  GITHUB_ACTIONS: 'true',
  GITHUB_RUN_ID: '5',
  ACTIONS_ID_TOKEN_REQUEST_URL: `${api.url}/mint?api-version=2.0`,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'request-secret',
};
let minted: number;

const takesReports = () => {
  minted = 0;
  api.on('POST /ci/runs', { status: 201, body: { id: 'cir_1' } });
  api.on('POST /ci/runs/cir_1/jobs', { body: { jobs: [] } });
  api.on('POST /ci/id-tokens/exchange', { body: { token: 'cijt_secret', externalRunId: '9' } });
  api.on('GET /mint', (response) => {
    minted += 1;
    response.end(JSON.stringify({ value: `minted.token.${minted}` }));
  });
};
const bearers = (path: string) =>
  api.asked.filter(({ target }) => target.startsWith(path)).map(({ headers }) => headers.authorization);

describe('at GitHub', () => {
  it('asks for an id_token for each call, made for the base URL', async () => {
    takesReports();
    const { code, out, err } = await svc(api, [...base, '--', 'true'], { env: github });
    expect(code, err).toBe(0);
    expect(bearers('/ci/runs')).toEqual(
      ['minted.token.1', 'minted.token.2', 'minted.token.3'].map((t) => `Bearer ${t}`),
    );
    const asked = api.asked.find(({ target }) => target.startsWith('/mint'));
    expect(asked?.headers.authorization).toBe('Bearer request-secret');
    expect(new URL(asked?.target ?? '', api.url).searchParams.get('audience')).toBe(api.url);
    expect(out + err).not.toMatch(/minted|secret/);
  });

  it('asks for a new one when an answer was lost, and repeats the call with its idempotency key', async () => {
    takesReports();
    let calls = 0;
    api.on('POST /ci/runs', (response) => {
      calls += 1;
      if (calls === 1) response.destroy();
      else response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"cir_1"}');
    });
    const { code, err } = await svc(api, [...base, '--debug'], { env: github });
    expect(code, err).toBe(0);
    const reports = api.asked.filter(({ target }) => target === '/ci/runs');
    expect(reports.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer minted.token.1',
      'Bearer minted.token.2',
    ]);
    expect(new Set(reports.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    expect(err).not.toMatch(/minted|secret/);
  });

  it('takes the audience from the flag, else from the environment', async () => {
    takesReports();
    await svc(api, base, { env: { ...github, SVC_OIDC_AUDIENCE: 'https://a.test' } });
    await svc(api, [...base, '--audience', 'https://b.test'], {
      env: { ...github, SVC_OIDC_AUDIENCE: 'https://a.test' },
    });
    const audiences = api.asked
      .filter(({ target }) => target.startsWith('/mint'))
      .map(({ target }) => new URL(target, api.url).searchParams.get('audience'));
    expect(audiences).toEqual(['https://a.test', 'https://b.test']);
  });

  it('prefers a key that was given', async () => {
    takesReports();
    await svc(api, base, { env: { ...github, SVC_API_KEY: 'key_1' } });
    expect([bearers('/ci/runs'), minted]).toEqual([['Bearer key_1'], 0]);
  });

  it('asks for none at an address that others could read', async () => {
    takesReports();
    const env = { ...github, ACTIONS_ID_TOKEN_REQUEST_URL: 'http://actions.test/mint' };
    const { code, err } = await svc(api, base, { env });
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining('no https address')]);
    expect([code === 0, bearers('/ci/runs')]).toEqual([false, []]);
  });

  it.each([
    ['refused', (): void => api.on('GET /mint', apiError(403, 'forbidden', 'no'))],
    ['no JSON', (): void => api.on('GET /mint', (response) => void response.end('<html>'))],
  ])(
    'leaves the exit code of the program alone when asking is %s',
    async (_what, breaks) => {
      takesReports();
      breaks();
      const line = [...base, '--', 'sh', '-c', 'exit 4'];
      const { err } = await ends(api, line, { code: 4, says: 'gave none', env: github });
      expect(err).not.toContain('secret');
    },
    30_000,
  );
});

describe('at GitLab', () => {
  it('exchanges the id_token once for all calls of a program', async () => {
    takesReports();
    const { code, out, err } = await svc(api, [...base, '--', 'true'], { env: GITLAB });
    expect(code, err).toBe(0);
    const exchanges = api.asked.filter(({ target }) => target === '/ci/id-tokens/exchange');
    expect(exchanges.map(({ body, headers }) => [body, headers.authorization])).toEqual([
      [{ ciConnectionId: 'cic_1', idToken: 'eyJ.the.idtoken' }, undefined],
    ]);
    expect(bearers('/ci/runs')).toEqual(Array(3).fill('Bearer cijt_secret'));
    expect(out + err).not.toMatch(/secret|idtoken/);
  });

  it('exchanges it once also when the first report fails', async () => {
    takesReports();
    api.on('POST /ci/runs', apiError(409, 'ci_connection_paused', 'paused'), {
      status: 201,
      body: { id: 'cir_1' },
    });
    const { code } = await svc(api, [...base, '--', 'sh', '-c', 'exit 6'], { env: GITLAB });
    expect(code).toBe(6);
    expect(api.asked.filter(({ target }) => target === '/ci/id-tokens/exchange')).toHaveLength(1);
    expect(api.asked.at(-1)?.body).toMatchObject({ status: 'failed' });
  });

  it('exchanges it also for a program that was interrupted', async () => {
    takesReports();
    const io = fakeIo({ env: { ...GITLAB, SVC_BASE_URL: api.url } });
    api.on('POST /ci/id-tokens/exchange', (response) => {
      io.interrupt();
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ token: 'cijt_secret', externalRunId: '9' }));
    });
    const line = [...base, '--', process.execPath, '-e', 'setInterval(() => {}, 1_000)'];
    expect(await run(line, io)).toBe(130);
    expect(api.asked.at(-1)?.body).toMatchObject({ status: 'cancelled' });
  });

  it('leaves the exit code of the program alone when the exchange is refused', async () => {
    takesReports();
    api.on('POST /ci/id-tokens/exchange', apiError(401, 'id_token_used', 'was taken before'));
    await ends(api, [...base, '--', 'sh', '-c', 'exit 7'], {
      code: 7,
      says: 'was taken before',
      env: GITLAB,
    });
    const fails = await svc(api, base, { env: GITLAB });
    expect(fails.code).not.toBe(0);
  });
});

it.each([
  ['GITHUB_ACTIONS', 'GITHUB_RUN_ID', 'id-token: write'],
  ['GITLAB_CI', 'CI_PIPELINE_ID', 'id_tokens: { SVC_ID_TOKEN'],
])('says with %s how to report without a key', async (marker, id, hint) => {
  await ends(api, base, { code: 1, says: hint, env: { ...PATH, [marker]: 'true', [id]: '1' } });
});
