/**
 * Runs every command of SPEC 4.1 to 4.6, word for word, in a script: there is no terminal, nobody answers a
 * question, and no flag stands that SPEC does not write.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { svc } from '../../cli/testing/session.ts';
import { world, type World } from '../setup/world.ts';

let w: World;
let environmentId: string;
let folder: string;
const REPOSITORY = 'ci.example/acme/spec';
const COMMIT = '3f2a9c1d5e7b3f2a9c1d5e7b3f2a9c1d5e7b3f2a';

beforeAll(async () => {
  w = await world();
  environmentId = (await w.sdk.environments.create(w.projectId, { name: 'spec' })).id;
  await w.runner();
  folder = await mkdtemp(join(tmpdir(), 'svc-spec-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function done(
  line: string | readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, out, err } = await svc({ url: w.server.baseUrl }, line, {
    env: { SVC_API_KEY: w.owner.token, ...env },
  });
  expect([line, code, err]).toEqual([line, 0, expect.not.stringMatching(/^svc: /m)]);
  return out;
}

/** Returns the first value in the output of a pipe, which is the id of a thing that was made. */
const idIn = (out: string): string => out.split('\n')[0]?.split('\t')[1] ?? '';

describe('commands of SPEC in a script', () => {
  it('4.1: features', async () => {
    const staff = { SVC_API_KEY: w.server.first.staffApiKey };
    await done('features list', staff);
    await done(['features', 'set', 'host.spaces', 'enabled', '--reason', 'as it was'], staff);
  });

  it('4.3: runners and registries', async () => {
    const team = `--team ${w.teamId}`;
    const [runner] = await w.sdk.runners.list(w.teamId);
    for (const line of [
      'enroll',
      'list',
      `status ${runner?.id}`,
      'diagnose',
      'diagnose --json',
      `clear-divergence-flag ${runner?.id}`,
    ])
      await done(`runners ${line} ${team}`);
    const id = idIn(
      await done(`registries add ${team} --host registry.example.com --namespace spec --default`),
    );
    await done(`registries list ${team}`);
    await done(`registries remove ${id} ${team}`);
    expect(await w.sdk.registries.list(w.teamId)).toEqual([]);
    await done(`runners revoke ${runner?.id} ${team}`);
    expect(await w.sdk.runners.list(w.teamId)).toEqual([]);
    // Nobody is left to wait for.
    await done(`runners diagnose ${team} --json --live`);
  });

  it('4.4: CI and the timeline', async () => {
    const connection = idIn(
      await done(`ci connect --team ${w.teamId} --provider generic --repo ${REPOSITORY}`),
    );
    await done(`ci connections list --team ${w.teamId}`);
    await done(`ci discover ${connection}`);
    const { secret } = await w.sdk.apiKeys.create('spec-ci', { scopes: ['ci:write'] });
    const job = { SVC_API_KEY: secret, CIRCLECI: 'true', CIRCLE_WORKFLOW_ID: 'wf_1' };
    const run = idIn(
      await done(
        `ci report --connection ${connection} --status success --env ${environmentId} --commit ${COMMIT}`,
        job,
      ),
    );
    await done(`ci runs show ${run}`);
    const [pipeline] = await w.sdk.ci.listPipelines(connection);
    await done(`ci runs list --pipeline ${pipeline?.id}`);
    await mkdir(join(folder, '.git'));
    const file = join(folder, '.gitlab-ci.yml');
    await writeFile(file, 'test:\n  script: [make]\n');
    await done(`ci validate --file ${file}`);
    await done(`timeline --env ${environmentId}`);
    await done(`timeline --env ${environmentId} --cursor 2026-11-20T08:00:00Z`);
  });

  it('4.6: keys', async () => {
    await done('keys create spec-key');
  });
});
