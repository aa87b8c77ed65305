/**
 * The server's side of builds over the real doors: a person submits, a runner that the test plays executes.
 */
import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import {
  chunkOf,
  DIGEST,
  IMAGE,
  type Offer,
  type ScriptedRunner,
} from '../../../test/setup/builds/scripted-runner.ts';

const CANARY = 'canary-8d2e61aa90';
const COMMIT = 'c'.repeat(40);

interface Shown {
  readonly id: string;
  readonly number: number;
  readonly state: string;
  readonly phase?: string;
  readonly phases: ReadonlyArray<{ phase: string; finishedAt?: string; selfReportedMs?: number }>;
  readonly message?: string;
  readonly needsDecision: boolean;
  readonly attempt: number;
}

const STATES = [
  'queued',
  'running',
  'publishing',
  'deploying',
  'awaiting_approval',
  'succeeded',
  'failed',
  'cancelled',
];

describe.skipIf(!(await has('postgres')))('builds', () => {
  // No lease ends by itself here, however slow the machine: the tests end those that they mean.
  const env = { SWEEP_EVERY_MS: '50', LEASE_MS: '3600000', OFFER_MS: '3600000' };
  const { server, key, call, ok, made, customer, runner: enrolled } = ownServer({ env, inPerson: true });
  let teamId: string;
  let projectId: string;
  let path: string;
  let environmentId: string;
  let runner: ScriptedRunner;
  let names = 0;

  const newRunner = async (): Promise<ScriptedRunner> => await enrolled(teamId);
  const newEnvironment = async (more: object = {}): Promise<string> => {
    // The apps of the tests before are free.
    await server.db.sql`update environments set deploy = null where project_id = ${projectId}`;
    return await made(`POST /projects/${projectId}/environments`, {
      name: `e${(names += 1)}`,
      repository: 'https://git.example.com/acme/web',
      ...more,
    });
  };
  const use = async (more: object = {}): Promise<void> => {
    environmentId = await newEnvironment(more);
    path = `/environments/${environmentId}`;
  };
  const submit = async (body: object = {}): Promise<Shown> => await ok<Shown>(`POST ${path}/builds`, body);
  const get = async (id: string): Promise<Shown> => await ok<Shown>(`GET ${path}/builds/${id}`);
  /** The same, which is in the list of the team's builds of the state that it shows, and of no other. */
  const getListed = async (id: string): Promise<Shown> => {
    const build = await get(id);
    const lists = STATES.map(async (state) => {
      const { builds } = await ok<{ builds: Shown[] }>(
        `GET /teams/${teamId}/builds?state=${state}&limit=200`,
      );
      return builds.some((each) => each.id === id) ? [state] : [];
    });
    expect((await Promise.all(lists)).flat()).toEqual([build.state]);
    return build;
  };
  const cancel = async (id: string): Promise<Shown> =>
    await ok<Shown>(`POST ${path}/builds/${id}/cancel`, {});
  const decide = async (id: string, decision: 'approve' | 'reject'): Promise<Shown> =>
    await ok<Shown>(`POST ${path}/builds/${id}/deploy-approval`, { decision });
  /** As if the time of the lease had passed, seen by the sweeper. */
  const loseRunner = async (offer: Offer): Promise<void> => {
    await server.db
      .sql`update work_leases set expires_at = now() - interval '1 hour' where work_id = ${offer.id} and ended_at is null`;
    await waitFor('the sweeper to take it back', async () => {
      const [row] = await server.db
        .sql`select lease_id is null as lost from work_items where id = ${offer.id}`;
      return row?.['lost'] === true;
    });
  };
  /** A second loss waits before the next grant, which the test does not. */
  const atOnce = async (): Promise<void> =>
    void (await server.db.sql`update work_items set run_after = now() where state = 'queued'`);

  beforeAll(async () => {
    teamId = await customer('builders');
    projectId = await made('POST /projects', { name: 'web', teamId });
    runner = await newRunner();
  });
  beforeEach(async () => await use());

  it('go from queued over running and publishing to succeeded, and name what came of them', async () => {
    const build = await submit();
    expect(build).toMatchObject({
      number: 1,
      state: 'queued',
      trigger: 'manual',
      branch: 'main',
      attempt: 0,
    });
    const offer = await runner.take();
    expect(offer).toMatchObject({
      id: build.id,
      attempt: 1,
      source: { repository: 'https://git.example.com/acme/web', branch: 'main', buildPath: '.' },
      image: { host: '127.0.0.1:5000', namespace: teamId, tag: '1', insecure: true },
      limits: { timeoutSeconds: 3600 },
    });
    expect(offer.deploy).toBeUndefined();
    const states: string[] = [];
    for (const phase of ['cloning', 'building', 'publishing']) {
      expect(await runner.beat(offer, phase)).toBe('ok');
      const { state, phase: shown } = await getListed(build.id);
      states.push(`${shown} ${state}`);
    }
    expect(states).toEqual(['cloning running', 'building running', 'publishing publishing']);
    const done = await runner.report(offer, {
      build: {
        image: IMAGE,
        digest: DIGEST,
        commit: COMMIT,
        buildType: 'dockerfile',
        phase: 'publishing',
        phases: [{ phase: 'cloning', durationMs: 12 }],
      },
    });
    expect(done).toMatchObject({ status: 200, body: { accepted: true } });
    const ended = await getListed(build.id);
    expect(ended).toMatchObject({
      state: 'succeeded',
      phase: 'publishing',
      image: IMAGE,
      digest: DIGEST,
      commit: COMMIT,
      buildType: 'dockerfile',
      reason: 'exit',
      exitCode: 0,
      attempt: 1,
      runnerId: runner.runnerId,
      needsDecision: false,
    });
    expect(
      ended.phases.map(({ phase, finishedAt, selfReportedMs }) => [
        phase,
        finishedAt !== undefined,
        selfReportedMs,
      ]),
    ).toEqual([
      ['cloning', true, 12],
      ['building', true, undefined],
      ['publishing', true, undefined],
    ]);
  });

  it('carry variables, secrets, steps and credentials to the runner, and show them to nobody', async () => {
    await ok(`POST ${path}/variables`, { name: 'MODE', value: 'plain' });
    await ok(`POST ${path}/variables`, { name: 'TOKEN', value: CANARY, secret: true });
    await ok(`POST ${path}/build-steps`, { command: 'npm test' });
    await ok(`PATCH ${path}`, {
      gitCredentials: { token: `${CANARY}-git` },
      submodules: true,
      buildPath: 'app',
    });
    const submitted = await call(`POST ${path}/builds`, { commit: COMMIT });
    const id = String(submitted.body['id']);
    const waiting = await server.asOwner(
      `select to_jsonb(w)::text as row from work_items w where id = '${id}'`,
    );
    const offer = await runner.take();
    expect(offer).toMatchObject({
      variables: { MODE: 'plain' },
      secrets: { TOKEN: CANARY },
      steps: ['npm test'],
      source: { commit: COMMIT, submodules: true, buildPath: 'app', username: 'git', token: `${CANARY}-git` },
      image: { tag: '1-ccccccc' },
    });
    await runner.finish(offer);
    const shown = [submitted.text, (await call(`GET ${path}/builds/${id}`)).text, JSON.stringify(waiting)];
    const tables = ['builds', 'work_items', 'audit_entries', 'outbox', 'runner_events', 'idempotency_keys'];
    for (const table of tables)
      shown.push(JSON.stringify(await server.asOwner(`select to_jsonb(t)::text as row from ${table} t`)));
    expect(shown.join('')).not.toContain(CANARY);
    const [row] = await server.asOwner(`select spec ? 'sealed' as sealed from work_items where id = '${id}'`);
    expect(row).toEqual({ sealed: false });
  });

  it('run one after the other in an environment, and at once in another', async () => {
    const first = await submit();
    const second = await submit();
    const third = await submit();
    const one = await runner.take();
    expect(one.id).toBe(first.id);
    expect(await runner.poll()).toBeUndefined();
    expect(await get(second.id)).toMatchObject({ state: 'queued', waiting: { reason: 'environment_busy' } });
    const here = path;
    await use();
    const elsewhere = await submit();
    const other = await runner.take();
    expect(other.id).toBe(elsewhere.id);
    await runner.finish(other);
    path = here;
    await cancel(second.id);
    expect(await runner.poll()).toBeUndefined();
    await runner.report(one, { exitCode: 1, build: { phase: 'building' } });
    expect(await get(first.id)).toMatchObject({ state: 'failed', phase: 'building', exitCode: 1 });
    expect((await runner.take()).id).toBe(third.id);
  });

  it('go to the runners that their environment names, unless they name others', async () => {
    const selects = { labels: { zone: 'a' } };
    expect(await ok(`PATCH ${path}`, { runner: selects })).toMatchObject({ runner: selects });
    const placed = { priority: 3, queueTimeoutSeconds: 60, maxAttempts: 2 };
    expect(await submit(placed)).toMatchObject({ ...placed, runner: selects });
    const own = await submit({ runner: { group: 'gpu' } });
    expect(own).toMatchObject({ runner: { group: 'gpu' }, priority: 0, maxAttempts: 3 });
    expect(await submit({ runner: {} })).not.toHaveProperty('runner');
    expect(await ok(`PATCH ${path}`, { runner: {} })).not.toHaveProperty('runner');
    expect(await get(own.id)).toMatchObject({ runner: { group: 'gpu' } });
  });

  it('are refused without a repository', async () => {
    await use({ repository: undefined });
    const refused = await call(`POST ${path}/builds`, {});
    expect([refused.status, refused.code]).toEqual([409, 'environment_incomplete']);
  });

  it('are one build when a key is used twice', async () => {
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const post = async () => await server.call(`POST ${path}/builds`, { as: key(), body: {}, headers });
    const [a, b] = [await post(), await post()];
    expect(b.body).toEqual(a.body);
    expect((await ok<{ builds: Shown[] }>(`GET ${path}/builds`)).builds).toHaveLength(1);
    await runner.finish(await runner.take());
  });

  it('are listed newest first, in pages', async () => {
    for (let n = 0; n < 5; n += 1) await submit();
    type Page = { builds: Shown[]; nextCursor?: string };
    const one = await ok<Page>(`GET ${path}/builds?limit=3`);
    const two = await ok<Page>(`GET ${path}/builds?limit=3&cursor=${one.nextCursor}`);
    expect([...one.builds, ...two.builds].map(({ number }) => number)).toEqual([5, 4, 3, 2, 1]);
    expect(two.nextCursor).toBeUndefined();
    const numbers: number[][] = [];
    // As whoever knows pages by their number goes through them: until one is empty.
    for (let page = 1; numbers.at(-1)?.length !== 0 && page < 10; page += 1) {
      const { builds, ...rest } = await ok<Page>(`GET ${path}/builds?limit=2&page=${page}`);
      numbers.push(builds.map(({ number }) => number));
      expect(rest).toEqual({});
    }
    expect(numbers).toEqual([[5, 4], [3, 2], [1], []]);
    expect((await ok<Page>(`GET ${path}/builds?page=4294967295`)).builds).toEqual([]);
    for (const wrong of ['page=0', 'page=-1', 'page=1.5', 'page=last', `page=1&cursor=${one.nextCursor}`]) {
      const refused = await call(`GET ${path}/builds?${wrong}`);
      expect([refused.status, refused.code], wrong).toEqual([400, 'validation_failed']);
      expect(refused.text, wrong).toContain('page');
    }
    for (const { id } of [...one.builds, ...two.builds]) await cancel(id);
  });

  it('are listed over all environments of a team, in pages', async () => {
    const first = await submit();
    await cancel(first.id);
    await use();
    const [second, third] = [await submit(), await submit()];
    type Page = { builds: Shown[]; nextCursor?: string };
    const all = `GET /teams/${teamId}/builds`;
    const one = await ok<Page>(`${all}?limit=2`);
    expect(one.builds.map(({ id }) => id)).toEqual([third.id, second.id]);
    const two = await ok<Page>(`${all}?limit=1&cursor=${one.nextCursor}`);
    expect(two.builds.map(({ id }) => id)).toEqual([first.id]);
    const misused = await call(`${all}?state=queued&cursor=${one.nextCursor}`);
    expect([misused.status, misused.code]).toEqual([400, 'validation_failed']);
    const { token } = await stranger(server);
    expect((await call(all, undefined, token)).status).toBe(404);
    for (const { id } of [second, third]) await cancel(id);
  });

  it('are refused as succeeded when no digest was published', async () => {
    const build = await submit();
    const offer = await runner.take();
    await runner.beat(offer, 'cloning');
    const refused = await runner.report(offer, { build: { image: IMAGE } });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'validation_failed' } } });
    expect(JSON.stringify(refused.body)).toContain('build.digest');
    expect(await get(build.id)).toMatchObject({ state: 'running' });
    await runner.finish(offer);
  });

  describe('that lose their runner', () => {
    it.each(['cloning', 'building'])('while %s are run again, at most three times', async (phase) => {
      const build = await submit();
      for (const attempt of [1, 2, 3]) {
        await atOnce();
        const offer = await runner.take();
        expect(offer).toMatchObject({ id: build.id, attempt, epoch: attempt });
        expect(await runner.beat(offer, phase)).toBe('ok');
        await loseRunner(offer);
        expect(await get(build.id)).toMatchObject({ state: attempt === 3 ? 'failed' : 'queued', attempt });
      }
      expect(await get(build.id)).toMatchObject({ reason: 'lease_lost', needsDecision: false });
      await atOnce();
      expect(await runner.poll()).toBeUndefined();
    });

    it.each(['publishing', 'deploying'])('while %s are not run again without a person', async (phase) => {
      await use({ deploy: { kind: 'container', app: 'web' } });
      const build = await submit();
      const offer = await runner.take();
      expect(await runner.beat(offer, phase)).toBe('ok');
      await loseRunner(offer);
      await atOnce();
      expect(await runner.poll()).toBeUndefined();
      const ended = await get(build.id);
      expect(ended).toMatchObject({
        state: 'failed',
        reason: 'lease_lost',
        needsDecision: true,
        phase,
        attempt: 1,
      });
      expect(ended.message).toMatch(
        phase === 'publishing' ? /may be in the registry or not/ : /may be up or not/,
      );
      expect(await runner.beat(offer, phase)).toBe('superseded');
    });

    it('keep what it says about the image afterwards, and stay as they are', async () => {
      const build = await submit();
      const offer = await runner.take();
      await runner.beat(offer, 'publishing');
      await loseRunner(offer);
      const before = await get(build.id);
      const digest = `sha256:${'1a7e'.repeat(16)}`;
      const late = { build: { image: IMAGE, digest, commit: COMMIT, platform: 'linux/amd64' } };
      for (const other of [
        { ...offer, epoch: offer.epoch + 1 },
        { ...offer, epoch: 0 },
      ])
        expect((await runner.report(other, late)).body).toMatchObject({ error: { code: 'stale_epoch' } });
      expect(await get(build.id)).toEqual(before);
      for (let n = 0; n < 2; n += 1)
        expect(await runner.report(offer, late)).toMatchObject({
          status: 409,
          body: { error: { code: 'stale_epoch' } },
        });
      const after = await get(build.id);
      expect(after).toMatchObject({ state: 'failed', needsDecision: true, image: IMAGE, digest });
      expect(after.message?.split('The runner reported afterwards')).toHaveLength(2);
      const artifact = await waitFor(
        'the artifact',
        async () => await ok(`GET /teams/${teamId}/artifacts/${digest}`),
      );
      expect(artifact).toMatchObject({ platform: 'linux/amd64', sources: [{ ref: build.id }] });
      const refused = await call(`POST ${path}/builds/${build.id}/rollback`, {});
      expect(refused.code).toBe('build_not_deployable');
    });

    it('by its revocation are treated the same', async () => {
      const build = await submit();
      const [early, late] = [await newRunner(), await newRunner()];
      const one = await early.take();
      await early.beat(one, 'building');
      await ok(`DELETE /teams/${teamId}/runners/${early.runnerId}`);
      expect(await get(build.id)).toMatchObject({ state: 'queued', attempt: 1 });
      const two = await late.take();
      await late.beat(two, 'publishing');
      await ok(`DELETE /teams/${teamId}/runners/${late.runnerId}`);
      expect(await get(build.id)).toMatchObject({ state: 'failed', needsDecision: true, attempt: 2 });
    });

    it('begin with no phase, and a phase that lies behind changes nothing', async () => {
      const build = await submit();
      const one = await runner.take();
      await runner.beat(one, 'building');
      expect(await runner.beat(one, 'cloning')).toBe('ok');
      expect(await get(build.id)).toMatchObject({ phase: 'building' });
      await loseRunner(one);
      const two = await runner.take();
      await runner.beat(two);
      const again = await get(build.id);
      expect(again).toMatchObject({ state: 'running', phases: [] });
      expect(again.phase).toBeUndefined();
      await runner.finish(two);
    });
  });

  describe('whose deploy must be approved', () => {
    beforeEach(async () => await use({ deploy: { kind: 'container', app: 'web' }, deployApproval: true }));

    it('wait for it after publishing, hold the environment, and deploy what was published', async () => {
      const build = await submit();
      const next = await submit();
      const offer = await runner.take();
      expect(offer.deploy).toBeUndefined();
      await runner.finish(offer);
      expect(await getListed(build.id)).toMatchObject({ state: 'awaiting_approval', digest: DIGEST });
      expect((await get(build.id)).message).toBeUndefined();
      const { items } = await ok<{ items: object[] }>(`GET /teams/${teamId}/inbox`);
      expect(items).toContainEqual(
        expect.objectContaining({ kind: 'deploy_approval', id: build.id, projectId, environmentId }),
      );
      expect(await runner.poll()).toBeUndefined();
      await decide(build.id, 'approve');
      expect(await getListed(build.id)).toMatchObject({ state: 'queued' });
      const deploy = await runner.take();
      expect(deploy).toMatchObject({
        deploy: { kind: 'container', app: 'web', containerPort: 8080, environmentId },
        deployImage: `${IMAGE}@${DIGEST}`,
        image: { host: '127.0.0.1:5000', insecure: true },
      });
      expect(deploy.source).toBeUndefined();
      expect(deploy.id).not.toBe(build.id);
      await runner.beat(deploy, 'deploying');
      expect(await getListed(build.id)).toMatchObject({ state: 'deploying', phase: 'deploying' });
      await runner.finish(deploy);
      const ended = await get(build.id);
      expect(ended).toMatchObject({ state: 'succeeded', address: 'http://10.0.0.7:32768', attempt: 2 });
      expect(ended.phases.map(({ phase }) => phase)).toEqual([
        'cloning',
        'building',
        'publishing',
        'deploying',
      ]);
      expect((await runner.take()).id).toBe(next.id);
    });

    it('end as cancelled when it is rejected or they are cancelled', async () => {
      const [one, two] = [await submit(), await submit()];
      await runner.finish(await runner.take());
      const rejected = await decide(one.id, 'reject');
      expect(rejected).toMatchObject({ state: 'cancelled', reason: 'cancelled', digest: DIGEST });
      expect(rejected.message).toContain('rejected');
      await runner.finish(await runner.take());
      expect(await cancel(two.id)).toMatchObject({ state: 'cancelled' });
      for (const { id } of [one, two]) {
        const late = await call(`POST ${path}/builds/${id}/deploy-approval`, { decision: 'approve' });
        expect([late.status, late.code]).toEqual([409, 'build_not_waiting']);
      }
    });

    it('are deployed once when ten people decide at once', async () => {
      const build = await submit();
      await runner.finish(await runner.take());
      const decisions = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? 'approve' : 'reject'));
      const answers = await Promise.all(
        decisions.map(
          async (decision) => await call(`POST ${path}/builds/${build.id}/deploy-approval`, { decision }),
        ),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const { state } = await get(build.id);
      const offer = await runner.poll();
      expect(offer === undefined).toBe(state === 'cancelled');
      if (offer !== undefined) await runner.finish(offer);
    });

    it('need an admin of the team', async () => {
      const build = await submit();
      await runner.finish(await runner.take());
      const { token } = await join(server, key(), { teamId, role: 'developer' });
      const route = `POST ${path}/builds/${build.id}/deploy-approval`;
      const refused = await call(route, { decision: 'approve' }, token);
      expect([refused.status, refused.code]).toEqual([403, 'role_insufficient']);
      await ok(route, { decision: 'reject' });
    });

    it('wait for it too when they roll back', async () => {
      const build = await submit();
      await runner.finish(await runner.take());
      await decide(build.id, 'approve');
      await runner.finish(await runner.take());
      const back = await ok<Shown>(`POST ${path}/builds/${build.id}/rollback`, {});
      expect(back).toMatchObject({ state: 'awaiting_approval', trigger: 'rollback', number: 2 });
      expect(await runner.poll()).toBeUndefined();
      await decide(back.id, 'approve');
      const offer = await runner.take();
      expect(offer).toMatchObject({ deployImage: `${IMAGE}@${DIGEST}` });
      await runner.finish(offer);
      expect(await get(back.id)).toMatchObject({ state: 'succeeded' });
    });
  });

  it('deploy an earlier image again as a build of their own', async () => {
    await use({ deploy: { kind: 'dokku', app: 'shop' } });
    const build = await submit();
    const offer = await runner.take();
    expect(offer.deploy).toMatchObject({ kind: 'dokku', app: 'shop' });
    await runner.finish(offer);
    const back = await ok<Shown>(`POST ${path}/builds/${build.id}/rollback`, {});
    expect(back).toMatchObject({ trigger: 'rollback', rollbackOf: build.id, number: 2, digest: DIGEST });
    const deploy = await runner.take();
    expect(deploy).toMatchObject({ id: back.id, deployImage: `${IMAGE}@${DIGEST}`, deploy: { app: 'shop' } });
    await runner.finish(deploy);
    expect(await get(back.id)).toMatchObject({ state: 'succeeded', address: 'http://10.0.0.7:32768' });
    await ok(`PATCH ${path}`, { deploy: { kind: 'none' } });
    expect((await call(`POST ${path}/builds/${build.id}/rollback`, {})).code).toBe('build_not_deployable');
  });

  it('are cancelled through the word on their lease, and may still end as they were going to', async () => {
    const build = await submit();
    const offer = await runner.take();
    await runner.beat(offer, 'building');
    expect(await cancel(build.id)).toMatchObject({ state: 'running' });
    expect(await get(build.id)).toMatchObject({ state: 'running', cancelRequested: true });
    expect(await runner.beat(offer, 'publishing')).toBe('cancelled');
    expect(await get(build.id)).toMatchObject({ phase: 'building' });
    await runner.report(offer, { reason: 'cancelled', exitCode: undefined });
    expect(await get(build.id)).toMatchObject({ state: 'cancelled', reason: 'cancelled' });
    expect(await cancel(build.id)).toMatchObject({ state: 'cancelled' });
  });

  it('are freed by unlock: at once when their runner was lost, by force otherwise', async () => {
    expect(await ok(`POST ${path}/builds/unlock`, {})).toEqual({});
    const [one, two] = [await submit(), await submit()];
    const locked = await call(`POST ${path}/builds/unlock`, {});
    expect([locked.status, locked.code]).toEqual([409, 'environment_locked']);
    expect(locked.text).toContain(one.id);
    const offer = await runner.take();
    await runner.beat(offer, 'cloning');
    expect((await call(`POST ${path}/builds/unlock`, {})).code).toBe('environment_locked');
    await loseRunner(offer);
    expect(await ok(`POST ${path}/builds/unlock`, {})).toEqual({ buildId: one.id });
    expect(await get(one.id)).toMatchObject({ state: 'cancelled' });
    const next = await runner.take();
    expect(next.id).toBe(two.id);
    expect(await ok(`POST ${path}/builds/unlock`, { force: true })).toEqual({ buildId: two.id });
    expect(await runner.beat(next)).toBe('cancelled');
    await runner.report(next, { reason: 'cancelled', exitCode: undefined });
    expect(await ok(`POST ${path}/builds/unlock`, {})).toEqual({});
  });

  it('keep their environment and its project from being deleted until they have ended', async () => {
    const refused = async (route: string): Promise<unknown> => {
      const answer = await call(route);
      expect(answer.status, answer.text).toBe(409);
      return (answer.body as { error: unknown }).error;
    };
    const other = await made('POST /projects', { name: `p${(names += 1)}`, teamId });
    const place = { name: 'production', repository: 'https://git.example.com/acme/web' };
    path = `/environments/${await made(`POST /projects/${other}/environments`, place)}`;
    const build = await submit();
    const inUse = { code: 'in_use', details: { resource: 'environment', builds: [build.id] } };
    const both = [`DELETE ${path}`, `DELETE /projects/${other}`];
    for (const route of both) expect(await refused(route)).toMatchObject(inUse);
    const offer = await runner.take();
    await runner.beat(offer, 'building');
    for (const route of both) expect(await refused(route)).toMatchObject(inUse);
    // Asked to end is not ended: its runner still has it.
    await cancel(build.id);
    expect(await refused(both[0] ?? '')).toMatchObject(inUse);
    await runner.report(offer, { reason: 'cancelled', exitCode: undefined });
    for (const route of both) expect((await call(route)).status).toBe(204);
    expect((await call(`GET ${path}`)).status).toBe(404);
  });

  it('are submitted or their environment is deleted, never both', async () => {
    for (let n = 0; n < 8; n += 1) {
      await use();
      const [gone, made] = await Promise.all([call(`DELETE ${path}`), call(`POST ${path}/builds`, {})]);
      expect([
        [204, 404],
        [409, 201],
      ]).toContainEqual([gone.status, made.status]);
      if (made.status === 201)
        await ok(`POST ${path}/builds/${(made.body as unknown as Shown).id}/cancel`, {});
    }
  });

  it('say what of their output is missing, and that it is not what was announced', async () => {
    const build = await submit();
    const offer = await runner.take();
    await runner.beat(offer, 'cloning');
    await runner.log(offer, 'one\n', 0);
    expect(await get(build.id)).toMatchObject({ logBytes: 4, logMissingBytes: 0, logMismatch: false });
    const lossy = { offset: 4, chunks: [{ ...chunkOf('two\n'), missingBytes: 4_096 }] };
    expect((await runner.append(offer, lossy)).status).toBe(200);
    expect(await get(build.id)).toMatchObject({ logBytes: 8, logMissingBytes: 4_096, logMismatch: false });
    // Thrown away and sent again, and still not what it should be.
    const end = (bytes: number) => ({ offset: bytes, chunks: [], end: { bytes, sha256: 'f'.repeat(64) } });
    expect((await runner.append(offer, end(8))).status).toBe(409);
    await runner.log(offer, 'one\n', 0);
    expect((await runner.append(offer, end(4))).status).toBe(409);
    expect(await get(build.id)).toMatchObject({ logBytes: 4, logMissingBytes: 0, logMismatch: true });
    await runner.finish(offer);
    expect(await get(build.id)).toMatchObject({ state: 'succeeded', logMismatch: true });
  });

  it('have a trace, shown in the console where no viewer is configured', async () => {
    const build = await submit();
    const trace = await ok<{ traceId: string; url: string }>(`GET ${path}/builds/${build.id}/trace`);
    expect(trace.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(trace.url).toBe(`${server.baseUrl}/console/environments/${environmentId}/builds/${build.id}`);
    await cancel(build.id);
  });

  it('are not there for people of another team, nor in another environment', async () => {
    const build = await submit();
    const { token } = await stranger(server);
    const elsewhere = await newEnvironment();
    for (const [verb, more, body] of [
      ['GET', '', undefined],
      ['GET', '/trace', undefined],
      ['GET', '/logs?follow=false', undefined],
      ['POST', '/cancel', {}],
      ['POST', '/rollback', {}],
      ['POST', '/deploy-approval', { decision: 'approve' }],
    ] as const) {
      const hidden = await call(`${verb} ${path}/builds/${build.id}${more}`, body, token);
      expect(hidden.status, `${verb} ${more} by a stranger`).toBe(404);
      const wrong = await call(`${verb} /environments/${elsewhere}/builds/${build.id}${more}`, body);
      expect(wrong.status, `${verb} ${more} in another environment`).toBe(404);
    }
    expect((await call(`GET ${path}/builds`, undefined, token)).status).toBe(404);
    await cancel(build.id);
  });
});
