/**
 * The whole server side of builds with the programs as they are shipped: a person with the SDK and the CLI on
 * one side, on the other a runner written from the protocol alone, whose every word this file writes. What a
 * real daemon makes of an offer is told elsewhere.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BuildEvent } from '@svc/sdk';
import { createIndependentRunner, type IndependentRunner } from './independent-runner.ts';
import { startPlatform, type Platform } from './platform.ts';
import { waitFor } from '../setup/wait-for.ts';

const CANARY = `canary-${randomBytes(8).toString('hex')}`;
const IMAGE = '127.0.0.1:5000/acme/web';
const DIGEST = `sha256:${'d'.repeat(64)}`;
const COMMIT = 'c'.repeat(40);
/**
 * Long enough for a machine that is busy with other things: between two words of the test's runner lies a
 * call or two.
 */
const LEASE_MS = 15_000;

interface Offer {
  readonly id: string;
  readonly epoch: number;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly deployImage?: string;
}

describe('builds on the server', () => {
  let platform: Platform;
  let teamId: string;
  let environmentId: string;
  let runner: IndependentRunner;

  const introduce = async (team: string, name: string): Promise<IndependentRunner> => {
    const made = createIndependentRunner(platform.url);
    const { token } = await platform.sdk.runners.createEnrollToken(team);
    await made.enroll(token, name);
    const facts = { version: '1.0.0', os: 'linux', arch: 'x64', isolation: 'container', executor: 'podman' };
    expect((await made.call('heartbeat', { facts })).status).toBe(200);
    return made;
  };
  const newEnvironment = async (team: string, more: object = {}): Promise<string> => {
    const project = await platform.sdk.projects.create({ name: 'web', teamId: team });
    const environment = await platform.sdk.environments.create(project.id, {
      name: 'production',
      repository: 'https://git.example.com/acme/web',
      ...more,
    });
    return environment.id;
  };

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

  /** Held at the gateway until there is one. */
  const take = async (by = runner, waitMs = 20_000): Promise<Offer> => {
    const { status, body } = await by.call('build-poll', { waitMs });
    expect(status, JSON.stringify(body)).toBe(200);
    if (body['build'] === undefined) throw new Error(`no build was offered within ${waitMs} ms`);
    return body['build'] as Offer;
  };
  const beat = async ({ id, epoch }: Offer, phase: string, by = runner): Promise<string> => {
    const { body } = await by.call('heartbeat', { leases: [{ id, epoch, phase }] });
    return String((body['leases'] as Array<{ state: string }>)[0]?.state);
  };
  const log = async ({ id, epoch }: Offer, offset: number, text: string): Promise<void> => {
    const chunks = [{ stream: 'stdout', data: Buffer.from(text).toString('base64') }];
    expect((await runner.call('build-logs', { id, epoch, offset, chunks })).status).toBe(200);
  };
  const report = async ({ id, epoch }: Offer, build: object, by = runner) =>
    await by.call('build-report', {
      id,
      epoch,
      reportId: randomBytes(8).toString('hex'),
      reason: 'exit',
      exitCode: 0,
      build,
    });
  const published = { image: IMAGE, digest: DIGEST, commit: COMMIT, buildType: 'dockerfile' };
  const ended = async (buildId: string) =>
    await waitFor(`${buildId} to end`, async () => {
      const build = await platform.sdk.builds.get(environmentId, buildId);
      return build.finishedAt === undefined ? undefined : build;
    });

  it('deploys what a person waits for, and tells the story while it happens', async () => {
    const held = take();
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
      expect(await beat(offer, phase)).toBe('ok');
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
    const offer = await take();
    expect(offer.id).toBe(one.id);
    expect(await beat(offer, 'publishing')).toBe('ok');
    // From here on the runner says nothing: the time of the lease passes, and the queue goes on by itself.
    const next = await take(runner, 40_000);
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
    const offer = await take();
    await beat(offer, 'building');
    await log(offer, 0, 'step 1 of 1\n');
    await report(offer, { ...published, address: 'http://10.0.0.7:1' });
    const logs = platform.svc('builds', 'logs', id, '--env', environmentId);
    expect(logs.status, logs.stderr).toBe(0);
    expect(logs.stdout).toContain('step 1 of 1');
    const back = platform.svc('builds', 'rollback', id, '--env', environmentId, '--yes', '--json');
    expect(back.status, back.stderr).toBe(0);
    const deploy = await take();
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
