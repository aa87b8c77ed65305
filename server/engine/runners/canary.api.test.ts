/**
 * A canary in every input that reaches a team: none of them sings in the bundle for support. Keys, tokens,
 * values of variables, notes, labels, what a daemon says of itself and what it reports.
 */
import { describe, expect, it } from 'vitest';
import { createIndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';

describe.skipIf(!(await has('postgres')))('a bundle for support', () => {
  const { server, sdk: sdkOf } = ownServer({
    env: {
      SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
      JOB_RUNNER_ENABLED: 'false',
      PUBLIC_URLS: ' ',
    },
  });

  it('holds none of the secrets that were planted everywhere', async () => {
    const planted: string[] = [];
    const canary = (where: string): string => {
      const text = `canary-${where}-${Math.random().toString(36).slice(2, 12)}`;
      planted.push(text);
      return text;
    };
    const also = <T extends string>(secret: T): T => {
      planted.push(secret);
      return secret;
    };
    const sdk = sdkOf(also(server.first.apiKey));
    const team = await sdk.teams.create('birds');
    await sdk.teams.update(team.id!, { description: canary('team') });
    const staff = sdkOf(also(server.first.staffApiKey));
    const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
    await staff.adminTeams.setRegion(team.id!, region!.id!);

    // People write these texts.
    const project = await sdk.projects.create({ name: 'app', teamId: team.id! });
    const environment = await sdk.environments.create(project.id!, {
      name: 'production',
      repository: 'https://git.example.com/acme/app.git',
    });
    await sdk.environments.update(environment.id!, {
      gitCredentials: { username: canary('git-user'), token: canary('git-token') },
    });
    await sdk.variables.set(environment.id!, 'API_TOKEN', canary('variable'), { secret: true });
    await sdk.variables.set(environment.id!, 'PLAIN', canary('plain-variable'));
    await sdk.buildSteps.add(environment.id!, `echo ${canary('build-step')}`);
    const hook = await sdk.webhookEndpoints.create(team.id!, `https://example.com/${canary('hook-path')}`, {
      events: ['runner.degraded'],
      description: canary('hook'),
    });
    also(hook.secret!);
    const run = await sdk.sandboxRuns.create(team.id!, {
      command: ['echo', canary('command')],
      env: { SECRET: canary('env') },
      stdin: canary('stdin'),
      labels: { note: canary('run-label') },
    });
    also((await sdk.runners.createEnrollToken(team.id!)).token!);
    const runner = createIndependentRunner(server.baseUrl);
    const runnerId = await runner.enroll(also((await sdk.runners.createEnrollToken(team.id!)).token!), 'box');
    const [keys] = await server.db.sql<Array<{ keyId: string; publicKey: Uint8Array }>>`
      select key_id as "keyId", public_key as "publicKey" from runners where id = ${runnerId}`;
    also(keys!.keyId);
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      also(Buffer.from(keys!.publicKey).toString(encoding));

    // The machine says the rest.
    const offered = await runner.call('poll', { slots: 1, waitMs: 20_000 });
    const { id, epoch } = (offered.body['run'] ?? {}) as { id: string; epoch: number };
    expect(id).toBe(run.id);
    const beat = await runner.call('heartbeat', {
      leases: [{ id, epoch }],
      labels: { zone: canary('runner-label') },
      facts: {
        version: `1.2.0+${canary('version')}`,
        os: canary('os'),
        arch: canary('arch'),
        isolation: 'container',
        executor: canary('executor'),
      },
      diagnostics: {
        containerCliVersion: `podman 4.3.1 ${canary('engine')}`,
        deployCliVersion: canary('deploy'),
        workspaceFreeMb: 812,
      },
    });
    expect(beat.status).toBe(200);
    const reported = await runner.call('report', {
      id,
      epoch,
      reportId: canary('report-id'),
      reason: 'engine_error',
      message: canary('message'),
      durationMs: 600_000,
    });
    expect([reported.status, reported.body['accepted']]).toEqual([200, true]);
    const notReady = [`disk: 812 MB free, see ${canary('not-ready')}`, canary('not-ready-word')];
    expect((await runner.call('poll', { slots: 1, waitMs: 0, notReady })).status).toBe(200);
    await server.db.sql`update runners set last_seen_at = null where id = ${runnerId}`;
    await runner.call('poll', { slots: 1, waitMs: 0, notReady });
    await sdk.runners.pause(team.id!, runnerId, { note: canary('pause-note') });
    await sdk.runners.clearDivergenceFlag(team.id!, runnerId);

    const bundle = await sdk.runners.diagnose(team.id!);
    const text = JSON.stringify(bundle);
    expect(planted.length).toBeGreaterThan(25);
    expect(planted.filter((secret) => text.includes(secret))).toEqual([]);
    expect(text).not.toContain('canary');
    expect(text).not.toContain(Buffer.alloc(32, 7).toString('base64'));
    // It still says what it is for.
    expect(bundle).toMatchObject({
      runners: [
        {
          id: runnerId,
          name: 'box',
          health: 'paused',
          strikes: 0,
          diagnostics: { containerCliVersion: 'podman 4.3.1' },
        },
      ],
    });
    // A variable that is set to its default is set, one that is left out or empty is not.
    expect(bundle.configured).toEqual({
      AMQP_URL: false,
      DATABASE_URL: true,
      JOB_RUNNER_ENABLED: true,
      LOCAL_REGISTRY: true,
      PUBLIC_URLS: false,
      RUNNERS_ENABLED: false,
    });
    expect(bundle.runners![0]!.notReady).toEqual(['disk', 'other']);
    expect(bundle.events!.map(({ kind }) => kind)).toEqual([
      'runner.divergence_cleared',
      'runner.paused',
      'runner.duration_divergence',
      'runner.enrolled',
    ]);
  });
});
