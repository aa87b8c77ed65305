/** The registry that the server starts for teams without one: guarded, kept up, gone with its server. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import { describe, expect, it } from 'vitest';
import { scriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import { findRegistryProgram } from './own-registry.ts';

const there = (await findRegistryProgram()) !== undefined;

const status = async (host: string) =>
  await fetch(`http://${host}/v2/`).then(
    ({ status: code, headers }) => ({ code, realm: headers.get('www-authenticate') ?? '' }),
    () => undefined,
  );

describe.skipIf(!there)('LOCAL_REGISTRY=auto', { timeout: 60_000 }, () => {
  it('asks for tokens of its server, is started again when it is killed, keeps its port, and ends with the server', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'svc-own-registry-'));
    const first = await startTestServer({ env: { LOCAL_REGISTRY: 'auto' }, dataDir });
    const host = first.localRegistry;
    await expect
      .poll(() => status(host), { timeout: 10_000 })
      .toMatchObject({
        code: 401,
        realm: expect.stringContaining(`${first.baseUrl}/registry/token`) as string,
      });
    const config = join(dataDir, 'registry', 'config.json');
    // The shell beside it has another command line.
    const pids = execFileSync('pgrep', ['-f', `^\\S+ serve ${config}$`], { encoding: 'utf8' }).trim();
    process.kill(Number(pids), 'SIGKILL');
    await expect.poll(() => status(host), { timeout: 10_000 }).toMatchObject({ code: 401 });
    await first.stop();
    await expect.poll(() => status(host), { timeout: 5_000 }).toBeUndefined();
    expect(readFileSync(join(dataDir, 'registry', 'port'), 'utf8').trim()).toBe(host.split(':')[1]);
    rmSync(dataDir, { recursive: true, force: true });
  });
});

describe('a team without a registry, where the installation has none', () => {
  it('is told when it makes an environment, and its build is refused at once, with the ways out', async () => {
    const server = await startTestServer({ env: { LOCAL_REGISTRY: 'off' } });
    const sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.apiKey, maxRetries: 0 });
    const { teamId } = server.first;
    const project = await sdk.projects.create({ name: 'web', teamId });
    const repository = 'https://git.example.com/acme/web';
    const made = await sdk.environments.create(project.id, { name: 'production', repository });
    const ways = /svc registries add.*install docker-registry/;
    expect(made.notice).toMatch(ways);
    await expect(sdk.builds.create(made.id)).rejects.toMatchObject({
      status: 409,
      code: 'environment_incomplete',
      message: expect.stringMatching(ways) as string,
    });
    await sdk.registries.add(teamId, 'registry.example.com');
    expect((await sdk.environments.get(made.id)).notice).toBeUndefined();
    expect((await sdk.builds.create(made.id)).state).toBe('queued');
    await server.stop();
  });

  it('has its queued build end with the same words when the registry it was to go to is no default any more; the next build is offered', async () => {
    const server = await startTestServer({ env: { LOCAL_REGISTRY: 'off' } });
    const { apiKey, staffApiKey } = server.first;
    const sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey, maxRetries: 0 });
    const staff = createSvcSDK({ baseUrl: server.baseUrl, apiKey: staffApiKey, maxRetries: 0 });
    const { id: teamId } = await sdk.teams.create('stranded');
    const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
    await staff.adminTeams.setRegion(teamId, region?.id ?? '');
    const { token } = await sdk.runners.createEnrollToken(teamId);
    const runner = await scriptedRunner(server.baseUrl, token);
    const project = await sdk.projects.create({ name: 'web', teamId });
    const repository = 'https://git.example.com/acme/web';
    const [first, second] = await Promise.all(
      ['one', 'two'].map(async (name) => await sdk.environments.create(project.id, { name, repository })),
    );
    const { id } = await sdk.registries.add(teamId, 'registry.example.com');
    const stranded = await sdk.builds.create(first?.id ?? '');
    await sdk.registries.update(teamId, id, { default: false });
    expect(await runner.poll()).toBeUndefined();
    const ended = await sdk.builds.get(first?.id ?? '', stranded.id);
    expect(ended).toMatchObject({
      state: 'failed',
      message: expect.stringMatching(/nowhere to go.*svc registries add.*LOCAL_REGISTRY/) as string,
    });
    await sdk.registries.update(teamId, id, { default: true });
    const next = await sdk.builds.create(second?.id ?? '');
    const offer = await runner.take();
    expect(offer).toMatchObject({ id: next.id, image: { host: 'registry.example.com', local: false } });
    await runner.finish(offer, { image: 'registry.example.com/web.two' });
    await server.stop();
  });
});
