import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi, useFolder, type Answer } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const api = await useFakeApi();
const cache = useFolder('features');

const change = {
  id: 'fch_1',
  at: '2026-11-20T11:57:00Z',
  key: 'host.ci',
  from: 'enabled',
  to: 'disabled',
  revisionFrom: 3,
  revisionTo: 4,
  reason: 'webhook storm, see INC-12',
  actor: { kind: 'user', id: 'user_1', display: 'ada@example.com' },
  source: 'cli',
  requestId: 'req_9',
  affected: [],
};

const ci = {
  key: 'host.ci',
  description: 'Connect.',
  owner: 'connect',
  lifecycle: 'ga',
  visibility: 'public',
  dependsOn: [],
  state: 'disabled',
  defaultState: 'enabled',
  enabled: false,
  reason: 'disabled',
  blockedBy: [],
  rootCauses: [],
  toggleable: true,
  revision: 4,
  lastChange: change,
};

const maintenance = {
  ...ci,
  key: 'host.automation.maintenance',
  lifecycle: 'experimental',
  visibility: 'internal',
  dependsOn: ['host.ci'],
  state: 'enabled',
  reason: 'dependency_disabled',
  blockedBy: ['host.ci'],
  rootCauses: ['host.ci'],
  revision: 1,
  lastChange: undefined,
};

const affected = [
  {
    key: 'host.ci',
    enabledBefore: true,
    enabledAfter: false,
    reasonBefore: 'enabled',
    reasonAfter: 'disabled',
    blockedBy: [],
  },
  {
    key: 'host.automation.maintenance',
    enabledBefore: true,
    enabledAfter: false,
    reasonBefore: 'enabled',
    reasonAfter: 'dependency_disabled',
    blockedBy: ['host.ci'],
  },
];

const wide = { terminal: true, columns: 140 };

describe('svc features list', () => {
  it('is one row a feature, its key never cut', async () => {
    api.on('GET /admin/platform-features', { body: { features: [ci, maintenance], revision: 9 } });
    const { out } = await svc(api, 'features list', wide);
    expect(out.split('\n').slice(0, 3)).toEqual([
      'KEY                          STATE     REASON               BLOCKED BY  LIFECYCLE     VISIBILITY',
      'host.ci                      disabled  disabled             -           ga            public',
      'host.automation.maintenance  enabled   dependency_disabled  host.ci     experimental  internal',
    ]);
    const narrow = await svc(api, 'features list', { terminal: true, columns: 80 });
    expect(narrow.out).toContain('host.automation.maintenance  enabled');
    for (const line of narrow.out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('gives programs every column, or the objects of the API', async () => {
    api.on('GET /admin/platform-features', { body: { features: [ci, maintenance], revision: 9 } });
    expect((await svc(api, 'features list')).out).toBe(
      [
        'key\tstate\tenabled\treason\tblockedBy\tlifecycle\tvisibility\trevision',
        'host.ci\tdisabled\tfalse\tdisabled\t\tga\tpublic\t4',
        'host.automation.maintenance\tenabled\tfalse\tdependency_disabled\thost.ci\texperimental\tinternal\t1',
        '',
      ].join('\n'),
    );
    expect(JSON.parse((await svc(api, 'features list --json')).out)).toHaveLength(2);
  });
});

describe('svc features get', () => {
  it('shows everything about one', async () => {
    api.on('GET /admin/platform-features/host.ci', { body: ci });
    const { out } = await svc(api, 'features get host.ci', wide);
    expect(out).toMatch(/reason +disabled/);
    expect(out).toContain('2026-11-20T11:57:00Z (3m ago)');
    expect(out).toContain('ada@example.com');
  });

  it('fails with 5 for a key that nobody declared', async () => {
    api.on('GET /admin/platform-features/host.x', apiError(404, 'feature_unknown', 'no feature "host.x"'));
    expect(await svc(api, 'features get host.x')).toMatchObject({ code: 5, out: '' });
  });
});

describe('svc features history', () => {
  it('tells who changed what when, how and why, newest first', async () => {
    api.on('GET /admin/platform-features/host.ci/history', { body: { changes: [change] } });
    const { out } = await svc(api, 'features history host.ci', wide);
    expect(out.split('\n').slice(0, 2)).toEqual([
      'AT      FROM     TO        ACTOR            REASON                     SOURCE  REVISION TO',
      '3m ago  enabled  disabled  ada@example.com  webhook storm, see INC-12  cli     4',
    ]);
    expect((await svc(api, 'features history host.ci')).out).toBe(
      'at\tfrom\tto\tactor.display\treason\tsource\trevisionTo\n2026-11-20T11:57:00Z\tenabled\tdisabled\tada@example.com\twebhook storm, see INC-12\tcli\t4\n',
    );
  });
});

describe('svc features set', () => {
  const route = 'PATCH /admin/platform-features/host.ci';
  const line = ['features', 'set', 'host.ci', 'disabled', '--reason', 'webhook storm, see INC-12'];

  it('sends state and reason as the command line, and shows what follows from it', async () => {
    api.on(route, { body: { feature: ci, affected, changed: true } });
    const { code, out, err } = await svc(api, line, wide);
    expect(code).toBe(0);
    expect(api.asked[0]?.body).toEqual({ state: 'disabled', reason: 'webhook storm, see INC-12' });
    expect(api.asked[0]?.headers).toMatchObject({ 'x-svc-client': 'cli' });
    expect(api.asked[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    expect(err).toBe('host.ci is disabled now (revision 4); 2 features changed\n');
    expect(out).toBe(
      [
        'KEY                          BEFORE   AFTER                BLOCKED BY',
        'host.ci                      enabled  disabled             -',
        'host.automation.maintenance  enabled  dependency_disabled  host.ci',
        '',
      ].join('\n'),
    );
  });

  it('gives programs the rows alone, or the whole answer as JSON', async () => {
    api.on(route, { body: { feature: ci, affected, changed: true } });
    const piped = await svc(api, line);
    expect([piped.out, piped.err]).toEqual([
      'key\tbefore\tafter\tblockedBy\nhost.ci\tenabled\tdisabled\t\nhost.automation.maintenance\tenabled\tdependency_disabled\thost.ci\n',
      '',
    ]);
    expect(JSON.parse((await svc(api, [...line, '--json'])).out)).toEqual({
      feature: { ...ci },
      affected,
      changed: true,
    });
  });

  it('writes nothing with --dry-run, needs no reason for it, and says so', async () => {
    api.on(route, { body: { feature: ci, affected, changed: true } });
    const { out, err } = await svc(api, 'features set host.ci disabled --dry-run', wide);
    expect(api.asked[0]).toMatchObject({ body: { state: 'disabled', dryRun: true } });
    expect(err).toBe('dry run, nothing was written: with host.ci disabled, 2 features would change\n');
    expect(out).toContain('host.automation.maintenance  enabled  dependency_disabled  host.ci');
  });

  it('leaves the need of a reason to the server, and tells how to give one', async () => {
    api.on(
      route,
      apiError(400, 'reason_required', 'a change needs a reason of 1 to 500 characters, got none'),
    );
    const { code, out, err } = await svc(api, 'features set host.ci disabled');
    expect([code, out]).toEqual([1, '']);
    expect(api.asked[0]?.body).toEqual({ state: 'disabled' });
    expect(err).toBe(
      [
        'svc: a change needs a reason of 1 to 500 characters, got none (reason_required, request req_1)',
        '  say why with --reason "...", or see what it would change with --dry-run',
        '',
      ].join('\n'),
    );
    const json = await svc(api, 'features set host.ci disabled --json');
    expect(JSON.parse(json.err)).toMatchObject({ error: { code: 'reason_required' } });
  });

  it.each([['on'], ['Enabled']])('takes no other state, such as "%s"', async (state) => {
    await ends(api, `features set host.ci ${state} --reason because-of-it`, { code: 2, says: 'enabled' });
    expect(api.asked).toEqual([]);
  });

  it('explains a change that came in between, and how to go on', async () => {
    const current = { ...ci, revision: 5, state: 'enabled', lastChange: { ...change, to: 'enabled' } };
    api.on(
      route,
      apiError(412, 'precondition_failed', { message: 'revision is 5, not 4', details: { current } }),
    );
    const { code, err } = await svc(api, [...line, '--revision', '4']);
    expect(code).toBe(1);
    expect(api.asked[0]?.body).toMatchObject({ revision: 4 });
    expect(err).toBe(
      [
        'svc: revision is 5, not 4 (precondition_failed, request req_1)',
        '  somebody else changed it in the meantime: it is enabled at revision 5, by ada@example.com at 2026-11-20T11:57:00Z: webhook storm, see INC-12',
        '  if you still want your change, repeat it with --revision 5',
        '',
      ].join('\n'),
    );
  });

  it('tells when nothing had to be done, and when something else still blocks it', async () => {
    const already = { ...ci, state: 'disabled' };
    api.on(route, { body: { feature: already, affected: [], changed: false } });
    const same = await svc(api, line, wide);
    expect([same.out, same.err]).toEqual(['', 'host.ci is disabled already; nothing was changed\n']);
    api.on('PATCH /admin/platform-features/host.automation.maintenance', {
      body: { feature: { ...maintenance, revision: 2 }, affected: [], changed: true },
    });
    const blocked = await svc(
      api,
      ['features', 'set', 'host.automation.maintenance', 'enabled', '--reason', 'pilot begins'],
      wide,
    );
    expect(blocked.err).toBe(
      'host.automation.maintenance is enabled now (revision 2); 0 features changed; it cannot be used yet because of host.ci (dependency_disabled)\n',
    );
  });

  it('forgets what the gate remembered, unless nothing was written', async () => {
    const env = { XDG_CACHE_HOME: cache };
    const remembered = async (): Promise<boolean> =>
      await access(join(cache, 'svc', 'features.json')).then(
        () => true,
        () => false,
      );
    api.on('GET /platform-features/resolved', { body: { features: { 'host.runners': true } } });
    api.on('GET /teams/team_1/runners', { body: { runners: [] } });
    api.on(route, { body: { feature: ci, affected, changed: true } });
    await svc(api, 'runners list --team team_1', { env });
    expect(await remembered()).toBe(true);
    await svc(api, 'features set host.ci disabled --dry-run', { env });
    expect(await remembered()).toBe(true);
    await svc(api, line, { env });
    expect(await remembered()).toBe(false);
  });

  it('never lets a reason or a name move the cursor of whoever reads it', async () => {
    const current = { ...ci, lastChange: { ...change, reason: 'x\u001b[2J\ny' } };
    api.on(route, apiError(412, 'precondition_failed', { message: 'no', details: { current } }));
    const { err } = await svc(api, line);
    expect(err).not.toContain('\u001b');
    expect(err.split('\n')).toHaveLength(4);
  });
});

describe('svc features resolved', () => {
  const route = 'GET /platform-features/resolved';
  const anonymous = { ...wide, env: { SVC_API_KEY: '' } };

  it('works without a credential, and says what is left out', async () => {
    api.on(route, { body: { features: { 'host.spaces': true, 'host.ci': true } } });
    const { code, out, err } = await svc(api, 'features resolved', anonymous);
    expect([code, out]).toEqual([0, 'KEY          ENABLED\nhost.spaces  true\nhost.ci      true\n']);
    expect(api.asked[0]?.headers['authorization']).toBeUndefined();
    expect(err).toContain('what is enabled and public');
  });

  it('shows staff every feature with the reason of its state', async () => {
    const { enabled, reason, blockedBy, lifecycle, visibility } = maintenance;
    const features = { 'host.automation.maintenance': { enabled, reason, blockedBy, lifecycle, visibility } };
    api.on(route, { body: { features } });
    const { out, err } = await svc(api, 'features resolved', wide);
    expect(out).toBe(
      [
        'KEY                          ENABLED  REASON               BLOCKED BY  LIFECYCLE     VISIBILITY',
        'host.automation.maintenance  false    dependency_disabled  host.ci     experimental  internal',
        '',
      ].join('\n'),
    );
    expect(err).toBe('');
    expect(JSON.parse((await svc(api, 'features resolved --json')).out)).toEqual(features);
  });

  it('has the same columns for programs whoever asks', async () => {
    api.on(route, { body: { features: { 'host.ci': true } } });
    expect((await svc(api, 'features resolved')).out).toBe(
      'key\tenabled\treason\tblockedBy\tlifecycle\tvisibility\nhost.ci\ttrue\t\t\t\t\n',
    );
    api.on(route, { body: { features: {} } });
    expect((await svc(api, 'features resolved')).out).toBe(
      'key\tenabled\treason\tblockedBy\tlifecycle\tvisibility\n',
    );
  });
});

describe('svc features companion', () => {
  const route = 'GET /admin/companion-features';
  const features = {
    'companion.chain': {
      enabled: false,
      reason: 'disabled',
      blockedBy: [],
      lifecycle: 'preview',
      visibility: 'public',
    },
  };

  it('shows what was read, and when', async () => {
    api.on(route, {
      body: { configured: true, degraded: false, asOf: '2026-11-20T11:59:50Z', features },
    });
    const { out, err } = await svc(api, 'features companion', wide);
    expect(out).toContain('companion.chain  false    disabled');
    expect(err).toBe('read 10s ago\n');
  });

  it('warns in a pipe too when it is old', async () => {
    api.on(route, {
      body: {
        configured: true,
        degraded: true,
        problem: 'no answer in 1000 ms',
        asOf: '2026-11-20T11:57:00Z',
        features,
      },
    });
    const { out, err } = await svc(api, 'features companion');
    expect(out).toContain('companion.chain\tfalse\tdisabled\t\tpreview\tpublic\n');
    expect(err).toBe(
      'warning: the companion service does not answer (no answer in 1000 ms); this is of 3m ago\n',
    );
  });

  it('says when there is none, or it was never read', async () => {
    api.on(route, { body: { configured: false, degraded: false, features: {} } });
    expect(await svc(api, 'features companion')).toMatchObject({ code: 0, out: '' });
    api.on(route, { body: { configured: true, degraded: true, problem: 'refused', features: {} } });
    expect((await svc(api, 'features companion')).err).toContain('(refused); it never did');
  });
});

describe('svc features watch', () => {
  const events = 'GET /admin/platform-features/events';
  const stream =
    (...revisions: readonly number[]): Answer =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const revision of revisions)
        response.write(`id: ${revision}\ndata: ${JSON.stringify({ position: `${revision}`, revision })}\n\n`);
      response.end('event: done\ndata: {}\n\n');
    };
  const on = { ...ci, state: 'enabled', enabled: true, reason: 'enabled', revision: 3 };
  const follower = { ...maintenance, enabled: true, reason: 'enabled', blockedBy: [] };

  it('shows what changed, who moved the switch and why', async () => {
    api.on(events, stream(7, 8));
    api.on(
      'GET /admin/platform-features',
      { body: { features: [on, follower], revision: 7 } },
      { body: { features: [ci, maintenance], revision: 8 } },
    );
    const { out, err } = await svc(api, 'features watch', wide);
    expect(out).toBe(
      [
        'host.ci  enabled -> disabled  (ada@example.com: webhook storm, see INC-12)',
        'host.automation.maintenance  enabled -> dependency_disabled by host.ci',
        '',
      ].join('\n'),
    );
    expect(err).toContain('at revision 7');
  });

  it('is a row a change in a pipe, and the events themselves as JSON', async () => {
    api.on(events, stream(7, 8));
    api.on('GET /admin/platform-features', { body: { features: [on] } }, { body: { features: [ci] } });
    expect((await svc(api, 'features watch')).out).toBe(
      'host.ci\tenabled\tdisabled\t\tada@example.com\twebhook storm, see INC-12\n',
    );
    expect((await svc(api, 'features watch --json')).out).toBe(
      '{"position":"7","revision":7}\n{"position":"8","revision":8}\n',
    );
  });
});
