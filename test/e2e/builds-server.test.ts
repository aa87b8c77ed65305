/**
 * The whole server side of builds with the programs as they are shipped: a person with the SDK and the CLI on
 * one side, on the other a runner written from the protocol alone, whose every word this file writes. What a
 * real daemon makes of an offer is told elsewhere.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BuildEvent } from '@svc/sdk';
import { scriptedRunner, type Offer, type ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { startPlatform, type Platform } from './platform.ts';

const CANARY = `canary-${randomBytes(8).toString('hex')}`;
const IMAGE = '127.0.0.1:5000/acme/web';
const DIGEST = `sha256:${'d'.repeat(64)}`;
const COMMIT = 'c'.repeat(40);
/**
 * Long enough for a machine that is busy with other things: between two words of the test's runner lies a
 * call or two.
 */
const LEASE_MS = 15_000;

describe('builds on the server', () => {
  let platform: Platform;
  let teamId: string;
  let environmentId: string;
  let runner: ScriptedRunner;

  const introduce = async (team: string, name: string): Promise<ScriptedRunner> =>
    await scriptedRunner(platform.url, (await platform.sdk.runners.createEnrollToken(team)).token, name);
  const newEnvironment = async (team: string, more: object = {}): Promise<string> =>
    (await platform.environment(team, 'https://git.example.com/acme/web', more)).id;

  beforeAll(async () => {
    platform = await startPlatform(
      {
        HEARTBEAT_MS: '1000',
        LEASE_MS: String(LEASE_MS),
        OFFER_MS: '60000',
        SWEEP_EVERY_MS: '100',
        LOG_LEVEL: 'debug',
        TRACE_VIEWER_URL: 'https://traces.example.com/t/{traceId}',
      },
      'machine',
    );
    teamId = await platform.customerTeam('builders');
    environmentId = await newEnvironment(teamId, { deploy: { kind: 'container', app: 'web' } });
    await platform.sdk.variables.setMany(environmentId, { MODE: 'production' });
    await platform.sdk.variables.set(environmentId, 'TOKEN', CANARY, { secret: true });
    runner = await introduce(teamId, 'scripted');
  }, 120_000);
  afterAll(async () => await platform?.stop());

  const log = async (offer: Offer, offset: number, text: string): Promise<void> =>
    expect((await runner.log(offer, text, offset)).status).toBe(200);
  const report = async (offer: Offer, build: object) => await runner.report(offer, { build });
  const published = { image: IMAGE, digest: DIGEST, commit: COMMIT, buildType: 'dockerfile' };
  const ended = async (buildId: string) => await platform.endedBuild(environmentId, buildId, 30_000);

  it('deploys what a person waits for, and tells the story while it happens', async () => {
    const held = runner.take();
    const waiting = platform.sdk.environments.deployAndWait(environmentId, { pollIntervalMs: 50 });
    const offer = await held;
    expect(offer).toMatchObject({
      buildType: 'auto',
      variables: { MODE: 'production' },
      secrets: { TOKEN: CANARY },
      source: { repository: 'https://git.example.com/acme/web', branch: 'main', buildPath: '.' },
      image: {
        host: '127.0.0.1:5000',
        insecure: true,
        repository: expect.stringMatching(/^web\S*\.production$/),
      },
      deploy: { kind: 'container', app: 'web', containerPort: 8080 },
    });
    const told: BuildEvent[] = [];
    const following = platform.sdk.builds.streamLogs(environmentId, offer.id, (event) => told.push(event));
    let offset = 0;
    for (const phase of ['cloning', 'building', 'publishing', 'deploying']) {
      expect(await runner.beat(offer, phase)).toBe('ok');
      const text = `${phase} now\n`;
      await log(offer, offset, text);
      offset += text.length;
    }
    const done = await report(offer, { ...published, address: 'http://10.0.0.7:32768' });
    expect(done).toMatchObject({ status: 200, body: { accepted: true } });
    expect(await waiting).toMatchObject({
      state: 'succeeded',
      digest: DIGEST,
      commit: COMMIT,
      address: 'http://10.0.0.7:32768',
      runnerName: 'scripted',
    });
    await following;
    const parts = told.map(({ text, phase }) => text ?? phase).filter((part) => part !== undefined);
    expect(parts).toEqual(
      ['cloning', 'building', 'publishing', 'deploying'].flatMap((phase) => [phase, `${phase} now\n`]),
    );
    expect(told.at(-1)).toMatchObject({ state: 'succeeded' });
    const trace = await platform.sdk.builds.trace(environmentId, offer.id);
    expect(trace.url).toBe(`https://traces.example.com/t/${trace.traceId}`);
  }, 120_000);

  it('does not run a build again whose runner died while it published, and begins the next one', async () => {
    const [one, two] = [
      await platform.sdk.builds.create(environmentId),
      await platform.sdk.builds.create(environmentId),
    ];
    const offer = await runner.take();
    expect(offer.id).toBe(one.id);
    expect(await runner.beat(offer, 'publishing')).toBe('ok');
    // From here on the runner says nothing: the time of the lease passes, and the queue goes on by itself.
    const next = (await runner.wait()) ?? (await runner.take());
    expect(next.id).toBe(two.id);
    expect(await ended(one.id)).toMatchObject({
      state: 'failed',
      phase: 'publishing',
      reason: 'lease_lost',
      needsDecision: true,
      attempt: 1,
    });
    expect((await report(offer, published)).body).toMatchObject({ error: { code: 'stale_epoch' } });
    expect(await platform.sdk.builds.get(environmentId, one.id)).toMatchObject({
      state: 'failed',
      digest: DIGEST,
    });
    expect((await report(next, { ...published, address: 'http://10.0.0.7:1' })).status).toBe(200);
    expect(await ended(two.id)).toMatchObject({ state: 'succeeded' });
  }, 120_000);

  it('is worked with the command line as well', async () => {
    const created = platform.svc('builds', 'create', environmentId, '--json');
    expect(created.status, created.stderr).toBe(0);
    const { id } = JSON.parse(created.stdout) as { id: string };
    const listed = platform.svc('builds', 'list', environmentId, '--json');
    expect(listed.stdout).toContain(id);
    const offer = await runner.take();
    await runner.beat(offer, 'building');
    await log(offer, 0, 'step 1 of 1\n');
    await report(offer, { ...published, address: 'http://10.0.0.7:1' });
    const logs = platform.svc('builds', 'logs', id, '--env', environmentId);
    expect(logs.status, logs.stderr).toBe(0);
    expect(logs.stdout).toContain('step 1 of 1');
    const back = platform.svc('builds', 'rollback', id, '--env', environmentId, '--yes', '--json');
    expect(back.status, back.stderr).toBe(0);
    const deploy = await runner.take();
    expect(deploy.deployImage).toBe(`${IMAGE}@${DIGEST}`);
    await report(deploy, { address: 'http://10.0.0.7:2' });
    const rolledBack = JSON.parse(back.stdout) as { id: string };
    expect(await ended(rolledBack.id)).toMatchObject({
      state: 'succeeded',
      trigger: 'rollback',
      rollbackOf: id,
    });
  }, 120_000);

  it('keeps a service-operated team from the runners that it enrolled', async () => {
    const team = await platform.sdk.teams.create('served');
    const own = await introduce(team.id, 'own');
    const environment = await newEnvironment(team.id);
    const build = await platform.sdk.builds.create(environment);
    expect((await own.call('build-poll', { waitMs: 200 })).body).toEqual({});
    expect(await platform.sdk.builds.get(environment, build.id)).toMatchObject({ state: 'queued' });
    await platform.sdk.builds.cancel(environment, build.id);
  }, 120_000);

  it('has written no secret into its log', () => {
    const written = platform.server.output();
    expect(written).toContain('svc.builds.v1.BuildsService/Create');
    expect(written).not.toContain(CANARY);
  });
});
