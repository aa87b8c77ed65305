import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../shell/run.ts';
import { apiError, startFakeApi, type FakeApi } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { svc } from '../testing/session.ts';

let api: FakeApi;

beforeAll(async () => {
  api = await startFakeApi();
});
afterEach(() => api.reset());
afterAll(() => api.close());

const promotion = {
  id: 'prm_1',
  teamId: 'team_1',
  projectId: 'prj_1',
  environmentId: 'env_1',
  environmentName: 'production',
  releaseId: 'rel_1',
  version: '1.4.0',
  state: 'pending',
  waitingFor: { code: 'approval', text: 'one more person' },
  approvals: [],
};
const { waitingFor: _none, ...ended } = promotion;
const CREATE = 'POST /environments/env_1/promotions';
const GET = 'GET /environments/env_1/promotions/prm_1';
const APPROVE = 'POST /environments/env_1/promotions/prm_1/approve';
const WAITS = 'promotion prm_1 of 1.4.0 to production is pending, waits for approval: one more person';

/** Without the time that it waits between two looks. */
async function atOnce(words: string): Promise<{ code: number; out: string; err: string }> {
  const io = {
    ...fakeIo({ terminal: true, env: { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1', NO_COLOR: '1' } }),
    pause: async () => undefined,
  };
  return { code: await run(words.split(' '), io), out: io.out(), err: io.err() };
}

describe('svc promotions create', () => {
  it('prints what it waits for and what the policies would say', async () => {
    const rule = { policyName: 'main', ruleId: 'r1', message: 'build main' };
    const policyPreview = { allowed: false, denied: [rule], warned: [{ ...rule, ruleId: 'r2' }] };
    api.on(CREATE, { status: 201, body: { ...promotion, policyPreview } });
    const { code, out, err } = await svc(api, 'promotions create env_1 rel_1 --artifact art_1');
    expect([code, out]).toEqual([0, expect.stringContaining('waitingFor.code\tapproval\n')]);
    expect(err.split('\n')).toEqual([
      'refused by policy main, rule r1: build main',
      'warned by policy main, rule r2: build main',
      WAITS,
      '',
    ]);
    expect(api.asked[0]?.body).toEqual({ releaseId: 'rel_1', artifactId: 'art_1' });
  });

  it('takes the environment by its flag as well', async () => {
    api.on(CREATE, { status: 201, body: promotion });
    expect((await svc(api, 'promotions create rel_1 --env env_1 --artifact-id art_1')).code).toBe(0);
    expect(api.asked[0]?.body).toEqual({ releaseId: 'rel_1', artifactId: 'art_1' });
  });

  it.each([
    ['deployed', { url: 'https://a.example' }, 0, 'is deployed, build bld_1, at https://a.example'],
    ['failed', { reason: 'exit code 3' }, 1, 'is failed, exit code 3, build bld_1'],
    ['rejected', { rejection: 'superseded' }, 1, 'is rejected, superseded, build bld_1'],
  ])('with --wait tells each change once, and ends as it does: %s', async (state, more, code, said) => {
    const approved = { ...ended, state: 'approved', waitingFor: { code: 'runner', text: 'a runner' } };
    const running = { body: { ...approved, buildId: 'bld_1' } };
    api.on(CREATE, { status: 201, body: promotion });
    api.on(GET, { body: promotion }, running, running, {
      body: { ...ended, state, buildId: 'bld_1', ...more },
    });
    const waited = await atOnce('promotions create env_1 rel_1 --wait --json');
    expect([waited.code, (JSON.parse(waited.out) as typeof ended).state]).toEqual([code, state]);
    expect(waited.err.split('\n')).toEqual([
      WAITS,
      'promotion prm_1 of 1.4.0 to production is approved, waits for runner: a runner, build bld_1',
      `promotion prm_1 of 1.4.0 to production ${said}`,
      '',
    ]);
  });

  it('with --wait ends with 8 at --timeout, and leaves the promotion', async () => {
    api.on(CREATE, { status: 201, body: promotion });
    api.on(GET, { body: promotion });
    const { code, out, err } = await svc(api, 'promotions create env_1 rel_1 --wait --timeout 50ms --json');
    expect([code, JSON.parse(out)]).toEqual([8, promotion]);
    expect(err).toBe('the promotion goes on; "svc promotions get prm_1 --env env_1" shows it\n');
  });

  it('with --wait ends at Ctrl-C, and says how to find it again', async () => {
    const io = fakeIo({ env: { SVC_BASE_URL: api.url, SVC_API_KEY: 'key_1' } });
    api.on(CREATE, { status: 201, body: promotion });
    api.on(GET, () => io.interrupt());
    expect(await run('promotions create env_1 rel_1 --wait'.split(' '), io)).toBe(130);
    expect(io.err()).toContain('svc promotions get prm_1 --env env_1');
  });
});

const digestOf = (n: number): string => `sha256:${String(n).repeat(64)}`;
const imageOf = (n: number) => ({
  id: `art_${n}`,
  teamId: 'team_1',
  digest: digestOf(n),
  name: 'acme/web',
  kind: 'image',
  sources: [{ origin: 'declared' }, { origin: 'build', commit: String(n).repeat(40) }],
});
const pkg = (name: string, version: string, type = 'deb') => ({ type, name, version, licenses: [] });
const build = (n: number, more: object = {}) => ({
  id: `bld_${n}`,
  state: 'succeeded',
  digest: digestOf(n),
  phases: [{ phase: 'publishing' }, { phase: 'deploying' }],
  ...more,
});

interface World {
  readonly builds?: readonly object[];
  readonly old?: readonly object[];
  readonly now?: readonly object[];
}

/** The environment runs image 1 of release 1.3.0, and the promotion brings image 2. */
function world({ builds = [build(1)], old = [], now = [] }: World = {}): void {
  api.on(GET, { body: promotion });
  api.on(APPROVE, { body: { ...ended, state: 'approved' } });
  api.on('GET /projects/prj_1/releases/rel_1', {
    body: { artifacts: [imageOf(2), { id: 'art_9', kind: 'file' }] },
  });
  api.on('GET /environments/env_1/builds', { body: { builds } });
  api.on('GET /environments/env_1/promotions', { body: { promotions: [promotion] } });
  api.on('GET /environments/env_1/promotions/prm_0', { body: { ...promotion, version: '1.3.0' } });
  api.on('GET /teams/team_1/artifact-impact', (response, { target }) => {
    const runs = target.includes(encodeURIComponent(digestOf(1)));
    const environments = runs ? [{ environmentId: 'env_1', promotionId: 'prm_0' }] : [];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ environments }));
  });
  for (const [n, packages] of [
    [1, old],
    [2, now],
  ] as const) {
    for (const key of [`art_${n}`, encodeURIComponent(digestOf(n))])
      api.on(`GET /teams/team_1/artifacts/${key}`, { body: imageOf(n) });
    api.on(`GET /teams/team_1/artifacts/art_${n}/packages`, { body: { packages } });
  }
}
const line = 'promotions approve env_1 prm_1';
const isApproved = (): boolean => api.asked.some(({ method }) => method === 'POST');
const RUNS = 'production runs 1.3.0, commit 111111111111';
const BRINGS = 'prm_1 brings 1.4.0, commit 222222222222';

describe('svc promotions approve', () => {
  it('shows versions, commits and packages, asks, and approves', async () => {
    world({
      // One that deployed nothing, and one whose image runs no more.
      builds: [build(4, { phases: [] }), build(3), build(1)],
      old: [pkg('openssl', '3.0.1'), pkg('gone', '1'), pkg('left', '1', 'npm'), pkg('left', '2', 'npm')],
      now: [pkg('openssl', '3.0.2'), pkg('new', ''), pkg('left', '2', 'npm'), pkg('left', '1', 'npm')],
    });
    const { code, out, err, io } = await svc(api, line, { terminal: true, answers: ['y'] });
    expect(err.split('\n')).toEqual([
      RUNS,
      BRINGS,
      'packages: 1 added, 1 removed, 1 changed',
      '+ new (deb) of no known version',
      '- gone (deb) 1',
      '~ openssl (deb) 3.0.1 → 3.0.2',
      'promotion prm_1 of 1.4.0 to production is approved',
      '',
    ]);
    expect(io.questions).toEqual(['Approve prm_1, 1.4.0 to production? [y/N] ']);
    expect([code, isApproved()]).toEqual([0, true]);
    expect(out).toContain('approved');
  });

  it('does not approve what is declined', async () => {
    world();
    expect((await svc(api, line, { terminal: true, answers: [''] })).code).toBe(1);
    expect(isApproved()).toBe(false);
  });

  it('needs --yes without a terminal, and takes a reason for an override', async () => {
    world();
    const { code, err } = await svc(api, line);
    expect([code, err]).toEqual([2, expect.stringContaining('add --yes to approve it without asking')]);
    expect(isApproved()).toBe(false);
    const words = ['promotions', 'approve', 'prm_1', '--env', 'env_1', '--yes'];
    const forced = await svc(api, [...words, '--override-reason', 'the fix cannot wait']);
    expect([forced.code, forced.err]).toEqual([
      0,
      expect.stringContaining(`${RUNS}\n${BRINGS}\npackages: 0 added`),
    ]);
    expect(api.asked.at(-1)?.body).toEqual({ override: { reason: 'the fix cannot wait' } });
  });

  it('shows the first twenty differences and counts the rest, over pages', async () => {
    world();
    const names = Array.from({ length: 30 }, (_, n) => pkg(`p${n}`, '1'));
    const more = { body: { packages: names.slice(0, 15), nextCursor: 'c2' } };
    api.on('GET /teams/team_1/artifacts/art_2/packages', more, { body: { packages: names.slice(15) } });
    const { err } = await svc(api, `${line} --yes`);
    const lines = err.trim().split('\n');
    expect(lines.slice(2, 4)).toEqual(['packages: 30 added, 0 removed, 0 changed', '+ p0 (deb) 1']);
    expect(lines.slice(-2)).toEqual(['+ p19 (deb) 1', 'and 10 more']);
    expect(api.asked.filter(({ target }) => target.endsWith('packages?limit=1000&cursor=c2'))).toHaveLength(
      1,
    );
  });

  it('does not compare lists without an end', async () => {
    world();
    const endless = { packages: [pkg('p', '1')], nextCursor: 'again' };
    api.on('GET /teams/team_1/artifacts/art_2/packages', { body: endless });
    expect((await svc(api, `${line} --yes`)).err).toContain(
      'packages are not compared: acme/web, artifact art_2, has more than 50000',
    );
    expect(api.asked.filter(({ target }) => target.includes('art_2/packages'))).toHaveLength(50);
  });

  it.each<[string, () => void, string]>([
    [
      'nothing is known of the packages',
      () => api.on('GET /teams/team_1/artifacts/art_1/packages', apiError(404, 'not_found', 'none')),
      'packages are not compared: nothing is known of those of acme/web, artifact art_1',
    ],
    [
      'nothing runs there',
      () => api.on('GET /environments/env_1/builds', { body: { builds: [] } }),
      `production runs nothing that is known\n${BRINGS}\npackages are not compared: there are not two images`,
    ],
    [
      'the release has several images',
      () => api.on('GET /projects/prj_1/releases/rel_1', { body: { artifacts: [imageOf(1), imageOf(2)] } }),
      'prm_1 brings 1.4.0\npackages are not compared',
    ],
    [
      'it runs already',
      () => api.on('GET /projects/prj_1/releases/rel_1', { body: { artifacts: [imageOf(1)] } }),
      'packages: the same image',
    ],
    [
      'the artifacts may not be read',
      () => api.on('GET /teams/team_1/artifact-impact', apiError(403, 'forbidden', 'no artifact:read')),
      'warning: what changes is not known: no artifact:read',
    ],
  ])('says so when %s, and leaves it to who is asked', async (_what, change, said) => {
    world();
    change();
    const { code, err } = await svc(api, `${line} --yes`);
    expect([code, err]).toEqual([0, expect.stringContaining(said)]);
  });

  it('finds what runs among promotions where newer builds deployed nothing', async () => {
    world({ builds: [build(4, { phases: [] })] });
    const last = { ...promotion, state: 'deployed', buildId: 'bld_1', digest: digestOf(1) };
    api.on('GET /environments/env_1/promotions', { body: { promotions: [promotion, last] } });
    expect((await svc(api, `${line} --yes`)).err).toContain(`${RUNS}\n${BRINGS}\npackages: 0 added`);
  });

  it('compares with what was deployed elsewhere last', async () => {
    world({ builds: [] });
    const elsewhere = (n: number, endedAt: string) => ({
      ...promotion,
      state: 'deployed',
      releaseId: `rel_${n}`,
      version: `1.${n}.0`,
      endedAt,
    });
    const promotions = [elsewhere(2, '2026-11-18T08:00:00Z'), elsewhere(3, '2026-11-19T08:00:00Z')];
    api.on('GET /environments/env_1/promotions', { body: { promotions } });
    api.on('GET /projects/prj_1/releases/rel_3', { body: { artifacts: [imageOf(1)] } });
    expect((await svc(api, `${line} --yes`)).err).toContain(`${RUNS}\n${BRINGS}\npackages: 0 added`);
  });

  it('asks nothing about a promotion that has ended: the server refuses it', async () => {
    api.on(GET, { body: { ...ended, state: 'deployed' } });
    api.on(APPROVE, apiError(409, 'promotion_not_pending', 'promotion prm_1 is deployed'));
    const { code, err } = await svc(api, line, { terminal: true });
    expect([code, err]).toEqual([1, expect.stringContaining('promotion prm_1 is deployed')]);
  });
});
