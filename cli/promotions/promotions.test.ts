import { describe, expect, it } from 'vitest';
import { run } from '../shell/run.ts';
import { apiError, useFakeApi } from '../testing/fake-api.ts';
import { fakeIo } from '../testing/fake-io.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();

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
    const rule = { policyName: 'main', ruleId: 'r1', message: 'build main', overridable: true };
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
const artifact = (n: number) => ({
  kind: 'image',
  name: 'acme/web',
  before: digestOf(n),
  after: digestOf(2),
});
const SINCE = '2026-11-19T08:00:00.000Z';
/** The environment runs image 1 of release 1.3.0, and the promotion brings image 2. */
const preview = {
  promotion,
  running: { version: '1.3.0', digest: digestOf(1), commit: '1'.repeat(40), since: SINCE },
  brought: { version: '1.4.0', digest: digestOf(2), commit: '2'.repeat(40) },
  artifacts: [artifact(1)],
  packages: { added: 0, removed: 0, changed: 0, changes: [] },
  approvals: 0,
  requiredApprovals: 1,
  policies: { allowed: true, denied: [], warned: [] },
};
const PREVIEW = `${GET}/preview`;
const pkg = (name: string, before: readonly string[], after: readonly string[]) => ({
  type: 'deb',
  name,
  before,
  after,
});

function world(more: object = {}): void {
  api.on(PREVIEW, { body: { ...preview, ...more } });
  api.on(APPROVE, { body: { ...ended, state: 'approved' } });
}
const line = 'promotions approve env_1 prm_1';
const isApproved = (): boolean => api.asked.some(({ method }) => method === 'POST');
const RUNS = `production runs 1.3.0, commit 111111111111, since ${SINCE}`;
const BRINGS = 'prm_1 brings 1.4.0, commit 222222222222';

describe('svc promotions approve', () => {
  it('shows versions, commits, artifacts, packages and rules, asks, and approves', async () => {
    const changes = [
      pkg('new', [], ['']),
      pkg('gone', ['1'], []),
      pkg('openssl', ['3.0.1'], ['3.0.2', '3.0.3', '3.0.4', '3.0.5']),
    ];
    const rule = { policyName: 'main', ruleId: 'r1', message: 'build main', overridable: true };
    world({
      artifacts: [{ kind: 'file', name: 'notes', after: digestOf(3) }, artifact(1)],
      packages: { added: 1, removed: 1, changed: 1, changes },
      policies: {
        allowed: false,
        denied: [rule, { ...rule, ruleId: 'r3', overridable: false }],
        warned: [{ ...rule, ruleId: 'r2', overridable: false }],
      },
    });
    const { code, out, err, io } = await svc(api, line, { terminal: true, answers: ['y'] });
    expect(err.split('\n')).toEqual([
      RUNS,
      BRINGS,
      'artifacts: 1 added, 0 removed, 1 changed',
      `+ notes (file) ${digestOf(3)}`,
      `~ acme/web (image) ${digestOf(1)} → ${digestOf(2)}`,
      'packages: 1 added, 1 removed, 1 changed',
      '+ new (deb) of no known version',
      '- gone (deb) 1',
      '~ openssl (deb) 3.0.1 → 3.0.2, 3.0.3, 3.0.4, …',
      'approvals: 0 of 1',
      'refused by policy main, rule r1: build main',
      'refused by policy main, rule r3: build main (cannot be overridden)',
      'warned by policy main, rule r2: build main',
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
    await ends(api, line, { code: 2, says: 'add --yes to approve it without asking' });
    expect(isApproved()).toBe(false);
    const words = ['promotions', 'approve', 'prm_1', '--env', 'env_1', '--yes'];
    await ends(api, [...words, '--override-reason', 'the fix cannot wait'], {
      code: 0,
      says: `${RUNS}\n${BRINGS}\n`,
    });
    expect(api.asked.at(-1)?.body).toEqual({ override: { reason: 'the fix cannot wait' } });
  });

  it('approves what it has shown: where it goes, approvals that count no longer, and the fingerprint of it all', async () => {
    const fingerprint = `sha256:${'f'.repeat(64)}`;
    const voidReason = 'deploy.app: web → web2';
    const approvals = [
      { userId: 'user_1', at: SINCE, voidReason },
      { userId: 'user_2', at: SINCE },
    ];
    const subject = [
      { name: 'deploy.app', value: 'web2' },
      { name: 'environment.branch', value: 'main' },
      { name: 'runner.labels', value: 'zone=b' },
    ];
    world({
      promotion: { ...promotion, fingerprint, approvals },
      subject,
      approvals: 1,
      requiredApprovals: 2,
    });
    const { code, err } = await svc(api, `${line} --yes`);
    expect(err.split('\n').slice(-5, -1)).toEqual([
      'packages: 0 added, 0 removed, 0 changed',
      'target: deploy.app web2, runner.labels zone=b',
      'approvals: 1 of 2',
      `the approval of user_1 counts no longer: ${voidReason}`,
    ]);
    expect([code, api.asked.at(-1)?.body]).toEqual([0, { fingerprint }]);
    api.on(APPROVE, apiError(409, 'state_conflict', 'promotion prm_1 is not what was seen any more'));
    await ends(api, `${line} --yes`, { code: 1, says: 'is not what was seen any more' });
  });

  it('shows the first twenty differences and counts the rest', async () => {
    const changes = Array.from({ length: 100 }, (_, n) => pkg(`p${n}`, [], ['1']));
    world({ packages: { added: 130, removed: 0, changed: 0, changes } });
    const lines = (await svc(api, `${line} --yes`)).err.trim().split('\n');
    const packages = lines.slice(lines.indexOf('packages: 130 added, 0 removed, 0 changed'));
    expect([packages[1], packages[20], packages[21]]).toEqual([
      '+ p0 (deb) 1',
      '+ p19 (deb) 1',
      'and 110 more',
    ]);
  });

  const notCompared = { packages: undefined, packagesProblem: 'there are not two images' };
  it.each<[string, object, string]>([
    [
      'nothing runs there',
      { running: undefined, ...notCompared },
      `production runs nothing that is known\n${BRINGS}\n`,
    ],
    [
      'packages are not compared',
      { brought: { version: '1.4.0' }, ...notCompared },
      'packages are not compared: there are not two images\napprovals: 0 of 1\n',
    ],
    [
      'what runs came with no release',
      { running: { digest: digestOf(1) } },
      `production runs ${digestOf(1)}\n`,
    ],
  ])('says so when %s, and leaves it to who is asked', async (_what, change, said) => {
    world(change);
    await ends(api, `${line} --yes`, { code: 0, says: said });
  });

  it('approves nothing whose changes it cannot show', async () => {
    world();
    api.on(PREVIEW, apiError(403, 'forbidden', 'no release:read'));
    const { code, err } = await svc(api, `${line} --yes`);
    expect([code, err, isApproved()]).toEqual([1, expect.stringContaining('no release:read'), false]);
  });

  it('asks nothing about a promotion that has ended: the server refuses it', async () => {
    world({ promotion: { ...ended, state: 'deployed' } });
    api.on(APPROVE, apiError(409, 'promotion_not_pending', 'promotion prm_1 is deployed'));
    await ends(api, line, { code: 1, says: 'promotion prm_1 is deployed', terminal: true });
  });
});
