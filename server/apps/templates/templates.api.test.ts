/** Templates are made over the real doors, read of repositories on loopback, and deployed by others. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createSvcSDK, type SvcSDK, type Template } from '@svc/sdk';

import { scriptedRunner, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { refusedWith } from '../../../test/setup/delivery/refused-with.ts';
import { ownBackground } from '../../../test/setup/forges/background.ts';
import { fakeRepository, type FakeFile } from '../../../test/setup/forges/fake-repository.ts';
import { githubTrees } from '../../../test/setup/forges/github-trees.ts';
import { has } from '../../../test/setup/needs.ts';
import { runsItself } from '../../../test/setup/own-runners.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { FACTS } from '../../../test/e2e/independent-runner.ts';
import { createSafeFetch } from '../../base/safe-fetch.ts';

const TOKEN = 'ghp_canary0a1b2c3d';
const VALUE = 'a-value-that-stays-behind';
const SHOP = `name: Shop of the file
description: Sells things.
buildPath: shop
buildCommand: npm test
containerPort: 3000
variables:
  - { name: SHOP_NAME, description: Shown on top., required: true }
  - { name: SESSION_KEY, secret: true, generate: { bytes: 32, alphabet: hex } }
  - { name: PAGE_SIZE, default: "20", format: integer }
  - { name: MAIL_FROM, required: false, format: email }
services:
  - { name: main, kind: database, databaseType: postgres, imageVersion: "16" }
  - { name: uploads, kind: storage, hostPath: uploads, containerPath: /srv/uploads }
`;
const HOST = { volumes: true, databases: true, mountRoots: ['/srv/data'] };

describe.skipIf(!(await has('postgres')))('templates', () => {
  const background = ownBackground({ takesRunners: true });
  let sdk: SvcSDK;
  let teamId: string;
  let projectId: string;
  let runner: ScriptedRunner;
  let made = 0;
  const as = (token: string): SvcSDK =>
    createSvcSDK({ baseUrl: background.server.baseUrl, maxRetries: 0, token });
  const slugOf = () => `shop-${(made += 1)}`;

  beforeAll(async () => {
    const { server } = background;
    sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.apiKey, maxRetries: 0 });
    ({ teamId } = server.first);
    projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
    await runsItself(createSvcSDK({ baseUrl: server.baseUrl, apiKey: server.first.staffApiKey }), teamId);
    const { token } = await server
      .call(`POST /teams/${teamId}/runners/enroll-tokens`, { as: server.first.apiKey, body: {} })
      .then(({ body }) => body as { token: string });
    runner = await scriptedRunner(server.baseUrl, token);
    await runner.call('heartbeat', { facts: { ...FACTS, host: HOST } });
  });

  /** A repository on loopback, with the team's connection of it where it has a token. */
  const hosted = async (files: Readonly<Record<string, FakeFile>>, path = 'acme/shop') => {
    const repository = fakeRepository(path, files);
    repository.token = TOKEN;
    const forge = await background.startForge(githubTrees([repository]));
    await background.connect({
      provider: 'github',
      host: 'github.com',
      path,
      token: TOKEN,
      apiUrl: forge.url,
    });
    return { repository, forge };
  };
  const create = async (more: object = {}, by = sdk): Promise<Template> =>
    await by.templates.create({
      name: 'Shop',
      slug: slugOf(),
      repository: 'https://github.com/acme/shop',
      visibility: 'team',
      ...more,
    });
  const resynced = async ({ id }: Template): Promise<Template> => {
    await sdk.templates.resync(id);
    await background.work();
    return await sdk.templates.get(id);
  };
  const fromFiles = async (files: Readonly<Record<string, FakeFile>>) => {
    const there = await hosted(files);
    const template = await create();
    await background.work();
    return { ...there, template: await sdk.templates.get(template.id) };
  };
  const problemOf = async (files: Readonly<Record<string, FakeFile>>): Promise<string> => {
    const { template } = await fromFiles(files);
    expect(template).toMatchObject({ syncState: 'failed', revision: 1, variables: [], services: [] });
    return template.syncProblem ?? '';
  };

  it('are read of a repository: what the file says, but for what was set by hand', async () => {
    const { template, repository, forge } = await fromFiles({ 'svc.template.yaml': SHOP });
    expect(template).toMatchObject({
      name: 'Shop',
      description: 'Sells things.',
      buildPath: 'shop',
      buildCommand: 'npm test',
      containerPort: 3000,
      revision: 2,
      syncState: 'synced',
      branch: 'main',
      sourcePath: 'svc.template.yaml',
      sourceCommit: repository.head,
      kept: ['name'],
      overridden: ['name'],
      warnings: [],
      services: [{ name: 'main', databaseType: 'postgres', imageVersion: '16' }, { name: 'uploads' }],
    });
    expect(template.variables).toMatchObject([
      { name: 'SHOP_NAME', required: true, secret: false },
      { name: 'SESSION_KEY', required: true, secret: true, generate: { bytes: 32, alphabet: 'hex' } },
      { name: 'PAGE_SIZE', default: '20', format: 'integer' },
      { name: 'MAIL_FROM', required: false, format: 'email' },
    ]);
    expect(JSON.stringify(template)).not.toContain(TOKEN);
    // It asks for the branch, for the root of its commit and for the file.
    expect(forge.asked).toHaveLength(3);
    expect(await resynced(template)).toMatchObject({ revision: 2, updatedAt: template.updatedAt });
  });

  it('are made of an environment, without a value and without credentials', async () => {
    const environment = await sdk.environments.create(projectId, {
      name: 'works',
      repository: 'https://someone:a-password@github.com/acme/shop.git',
      branch: 'next',
      dockerfile: 'Dockerfile.prod',
      deploy: { kind: 'container', containerPort: 4000 },
      gitCredentials: { token: 'a-git-token' },
    });
    await sdk.variables.set(environment.id, 'SHOP_NAME', VALUE);
    await sdk.variables.set(environment.id, 'API_TOKEN', VALUE, { secret: true });
    await sdk.buildSteps.add(environment.id, 'npm ci');
    await sdk.buildSteps.add(environment.id, 'npm test');
    await sdk.storage.create(environment.id, 'uploads', '/srv/uploads');
    await sdk.storage.create(environment.id, '/srv/data/web', '/srv/web');
    await sdk.database.create(environment.id, 'postgres');
    const template = await sdk.templates.createFromEnvironment(environment.id, {
      name: 'Works for us',
      requiredVariables: ['API_TOKEN', 'MAIL_FROM'],
    });
    expect(template).toMatchObject({
      slug: 'works-for-us',
      visibility: 'team',
      repository: 'https://github.com/acme/shop.git',
      branch: 'next',
      dockerfile: 'Dockerfile.prod',
      buildCommand: 'set -e\n(\nnpm ci\n)\n(\nnpm test\n)',
      containerPort: 4000,
      syncState: 'none',
      variables: [
        { name: 'API_TOKEN', secret: true, required: true },
        { name: 'SHOP_NAME', secret: false, required: false },
        { name: 'MAIL_FROM', required: true },
      ],
      services: [
        { name: 'database', kind: 'database', databaseType: 'postgres', imageVersion: '17' },
        { name: 'storage', kind: 'storage', hostPath: 'uploads', containerPath: '/srv/uploads' },
      ],
    });
    expect(template.warnings).toEqual([expect.stringContaining('/srv/data/web is a path of one machine')]);
    const stored = await background.server.db
      .sql`select t.*, r.* from templates t join template_revisions r on r.template_id = t.id where t.id = ${template.id}`;
    for (const secret of [VALUE, 'a-password', 'a-git-token', 'someone'])
      expect(JSON.stringify([template, stored])).not.toContain(secret);
  });

  it('are merged when both ends have changed, and environments that were made stay as they are', async () => {
    const { template, repository } = await fromFiles({ 'svc.template.yaml': SHOP });
    const { environment } = await sdk.templates.deploy(projectId, template.id, 'before', {
      variables: { SHOP_NAME: 'Acme' },
    });
    if (environment === undefined) throw new Error('there is no environment');
    const before = await sdk.environments.get(environment.id);
    await sdk.templates.update(template.id, { buildCommand: 'make test' });
    await sdk.templates.replaceServices(template.id, [
      { name: 'cache', kind: 'database', databaseType: 'redis' },
    ]);
    repository.commit({
      'svc.template.yaml': SHOP.replace('buildPath: shop', 'buildPath: store')
        .replace('npm test', 'npm run check')
        .replace('"20"', '"50"'),
    });
    const after = await resynced(template);
    expect(after).toMatchObject({
      name: 'Shop',
      buildPath: 'store',
      buildCommand: 'make test',
      services: [{ name: 'cache' }],
      kept: ['name', 'buildCommand', 'services'],
      overridden: ['name', 'buildCommand', 'services'],
      revision: 5,
      syncState: 'synced',
    });
    expect(after.variables?.find(({ name }) => name === 'PAGE_SIZE')?.default).toBe('50');
    expect(await sdk.environments.get(environment.id)).toEqual(before);
    const revisions = await background.server.db
      .sql`select revision from template_revisions where template_id = ${template.id} order by revision`;
    expect(revisions.map((row) => row['revision'])).toEqual([1, 2, 3, 4, 5]);
    const changing = background.server.db.sql`update template_revisions set revision = 9`;
    await expect(changing).rejects.toThrow(/append-only/);
    const audit = await background.server.db
      .sql`select action, details from audit_entries where target = ${template.id} and action = 'template.resynced' order by seq`;
    expect(audit.at(-1)?.['details']).toMatchObject({ fields: ['buildPath', 'variables'], revision: 5 });
  });

  it('are deployed by somebody else with other values, secrets are made, and the first build begins', async () => {
    const { template } = await fromFiles({ 'svc.template.yaml': SHOP });
    const { token } = await join(background.server, background.server.first.apiKey, {
      teamId,
      role: 'developer',
    });
    const developer = as(token);
    const deployed = await developer.projects.deployTemplate(projectId, template.slug, 'mine', {
      variables: { SHOP_NAME: 'Acme', PAGE_SIZE: '7' },
    });
    const { environment, build, missingVariables } = deployed;
    expect(missingVariables).toEqual([]);
    expect(environment).toMatchObject({
      name: 'mine',
      repository: 'https://github.com/acme/shop',
      buildPath: 'shop',
      deploy: { kind: 'container', containerPort: 3000 },
    });
    expect(build).toMatchObject({ environmentId: environment?.id, state: 'queued', number: 1 });
    const environmentId = environment?.id ?? '';
    expect(await developer.variables.list(environmentId)).toMatchObject([
      { name: 'DATABASE_URL', managedBy: 'database' },
      { name: 'PAGE_SIZE', value: '7', secret: false },
      { name: 'SESSION_KEY', secret: true },
      { name: 'SHOP_NAME', value: 'Acme' },
    ]);
    expect(await developer.storage.list(environmentId)).toMatchObject([{ hostPath: 'uploads' }]);
    expect(await developer.database.get(environmentId)).toMatchObject({ imageVersion: '16' });
    expect(await developer.buildSteps.list(environmentId)).toMatchObject([{ command: 'npm test' }]);
    const offer = await runner.take();
    expect((offer as unknown as { secrets: Record<string, string> }).secrets['SESSION_KEY']).toMatch(
      /^[0-9a-f]{64}$/,
    );
    await runner.finish(offer);
  });

  it('wait for what is missing: the environment is there, and its builds are refused until it is set', async () => {
    const { template } = await fromFiles({ 'svc.template.yaml': SHOP });
    const { environment, build, missingVariables } = await sdk.projects.deployTemplate(
      projectId,
      template.id,
    );
    expect([environment?.name, build, missingVariables]).toEqual([template.slug, undefined, ['SHOP_NAME']]);
    const environmentId = environment?.id ?? '';
    const refused = await background.call(`POST /environments/${environmentId}/builds`, {});
    expect([refused.status, refused.code]).toEqual([409, 'environment_incomplete']);
    expect(refused.body).toMatchObject({ error: { details: { missingVariables: ['SHOP_NAME'] } } });
    const origin = { environmentId, templateId: template.id, revision: 2, missingVariables: ['SHOP_NAME'] };
    expect(await sdk.templates.ofEnvironment(environmentId)).toEqual({ ...origin, newestRevision: 2 });
    await sdk.templates.delete(template.id);
    expect(await sdk.templates.ofEnvironment(environmentId)).toEqual(origin);
    expect(await refusedWith(sdk.builds.create(environmentId))).toMatch(/^409 environment_incomplete /);
    await sdk.variables.set(environmentId, 'SHOP_NAME', 'Acme');
    const begun = await sdk.builds.create(environmentId);
    await sdk.builds.cancel(environmentId, begun.id);
  });

  it('leave nothing behind where a part is refused', async () => {
    const { template } = await fromFiles({ 'svc.template.yaml': SHOP });
    const counts = async () =>
      await background.server.db.sql`
        select (select count(*) from environments) as environments, (select count(*) from variables) as variables, (select count(*) from builds) as builds,
          (select count(*) from storage_mounts) as mounts, (select count(*) from databases) as databases, (select count(*) from host_apps) as hosts,
          (select count(*) from template_environments) as made, (select count(*) from audit_entries) as entries`;
    const before = await counts();
    const variables = { SHOP_NAME: 'Acme' };
    const deploy = async (name: string, given: Record<string, string> = variables) =>
      await refusedWith(sdk.templates.deploy(projectId, template.id, name, { variables: given }));
    await runner.call('heartbeat', { facts: { ...FACTS, host: { ...HOST, databases: false } } });
    try {
      expect(await deploy('no-database')).toMatch(/^409 host_unavailable /);
    } finally {
      await runner.call('heartbeat', { facts: { ...FACTS, host: HOST } });
    }
    expect(await deploy('x', { SHOP_NAME: 'a', OTHER: 'b' })).toMatch(/^400 validation_failed .*OTHER/);
    expect(await deploy('x', { ...variables, PAGE_SIZE: 'many' })).toMatch(/PAGE_SIZE is not a whole number/);
    expect(await counts()).toEqual(before);
    await sdk.environments.create(projectId, { name: 'taken' });
    expect(await deploy('taken')).toMatch(/^409 name_taken /);
  });

  it('are deployed at once, beside others who ask for storage on the same machine', async () => {
    const { template } = await fromFiles({ 'svc.template.yaml': SHOP });
    const deploy = { kind: 'container' } as const;
    const others = await Promise.all(
      ['a', 'b', 'c'].map(async (name) =>
        sdk.environments.create(projectId, { name: `beside-${name}`, deploy }),
      ),
    );
    const variables = { SHOP_NAME: 'Acme' };
    const ended = await Promise.all([
      ...['a', 'b', 'c'].map(async (name) =>
        sdk.templates.deploy(projectId, template.id, `at-once-${name}`, { variables }),
      ),
      ...others.map(async ({ id }) => sdk.storage.create(id, 'uploads', '/srv/uploads')),
    ]);
    expect(ended).toHaveLength(6);
  });

  it('are read of Heroku’s app.json, with warnings, and of no other program’s', async () => {
    const app = {
      name: 'Old shop',
      env: {
        SECRET_KEY: { description: 'Signs cookies.', generator: 'secret' },
        STRIPE_SECRET: 'sk_live_leaked',
        GREETING: 'hello',
        OPTIONAL: { required: false },
        DATABASE_URL: { required: true },
      },
      addons: ['heroku-postgresql:mini', { plan: 'papertrail' }],
      environments: { test: { addons: ['heroku-redis'] } },
      buildpacks: [{ url: 'heroku/nodejs' }],
    };
    const { template, repository } = await fromFiles({ 'app.json': JSON.stringify(app) });
    expect(template).toMatchObject({
      syncState: 'synced',
      sourcePath: 'app.json',
      services: [
        { kind: 'database', databaseType: 'postgres' },
        { kind: 'test_database', databaseType: 'redis' },
      ],
      variables: [
        { name: 'SECRET_KEY', secret: true, generate: { bytes: 32 } },
        { name: 'STRIPE_SECRET', secret: true, required: true },
        { name: 'GREETING', default: 'hello' },
        { name: 'OPTIONAL', required: false },
      ],
    });
    expect(JSON.stringify(template)).not.toContain('sk_live_leaked');
    expect(template.warnings?.join('\n')).toMatch(
      /buildpacks is not taken over[^]*papertrail[^]*STRIPE_SECRET/,
    );
    repository.commit({ 'app.json': JSON.stringify({ expo: { name: 'x' }, scripts: {} }) });
    const failed = await resynced(template);
    expect(failed).toMatchObject({
      syncState: 'failed',
      revision: template.revision,
      services: template.services,
    });
    expect(failed.syncProblem).toMatch(/app.json is not Heroku's/);
  });

  it.each<[string, Readonly<Record<string, FakeFile>>, RegExp]>([
    ['has no file', { 'README.md': '#' }, /^file_not_found: acme\/shop has none of svc.template.yaml/],
    ['is a link', { 'svc.template.yaml': { link: '/etc/passwd' } }, /is no file, and links are not followed/],
    ['is huge', { 'svc.template.json': `{"name": "${'x'.repeat(140_000)}"}` }, /at most 131072 are read/],
    [
      'is a bomb',
      {
        'svc.template.yaml': `a: &a ["lol","lol"]\nb: &b [*a,*a]\nc: &c [*b,*b]\nname: *c\n`,
      },
      /^svc.template.yaml: .*alias/i,
    ],
    [
      'mounts the machine',
      {
        'svc.template.json': JSON.stringify({
          services: [{ name: 'a', kind: 'storage', hostPath: '/etc', containerPath: '/x' }],
        }),
      },
      /services\[0\].hostPath is a path of a machine/,
    ],
  ])('keep what they were where the file %s', async (_what, files, problem) => {
    expect(await problemOf(files)).toMatch(problem);
  });

  it('ask no host that nobody named, and no other one than the connection’s, with or without a token', async () => {
    for (const repository of [
      'http://169.254.169.254/latest/meta-data',
      'https://127.0.0.1:8080/acme/shop',
      'https://constructor/acme/shop',
      'git@internal.example.com:acme/shop.git',
    ]) {
      const { id } = await create({ repository });
      await background.work({ fetch: () => Promise.reject(new Error(`a request for ${repository}`)) });
      expect((await sdk.templates.get(id)).syncProblem).toMatch(/^unsupported_host: /);
    }
    expect(await refusedWith(create({ repository: 'https://me:secret@github.com/acme/shop' }))).toMatch(
      /^400 validation_failed .*credentials are given to each environment/,
    );
  });

  it('read no repository of another team with its token', async () => {
    const { forge } = await hosted({ 'svc.template.yaml': SHOP });
    const { token } = await stranger(background.server);
    const theirs = await create({}, as(token));
    const asked: unknown[] = [];
    const real = createSafeFetch({ allowPrivate: true });
    await background.work({
      fetch: async (request) => {
        asked.push(request.headers);
        return await real({ ...request, url: request.url.replace('https://api.github.com', forge.url) });
      },
    });
    expect(await as(token).templates.get(theirs.id)).toMatchObject({ syncState: 'failed' });
    expect((await as(token).templates.get(theirs.id)).syncProblem).toMatch(
      /^not_found: .*a private repository is read with the token of a CI connection of the team/,
    );
    expect(asked).not.toEqual([]);
    expect(JSON.stringify(asked)).not.toContain(TOKEN);
  });

  it('are the team’s own, or everybody’s: others see a public one and change none', async () => {
    const own = await create();
    const open = await create({ visibility: 'public' });
    const { token, teamId: theirTeam } = await stranger(background.server);
    const they = as(token);
    expect(await refusedWith(they.templates.get(own.id))).toMatch(/^404 /);
    expect(await refusedWith(they.templates.get(own.slug))).toMatch(/^404 /);
    const seen = await they.templates.get(open.slug);
    expect(seen).toMatchObject({ id: open.id, overridden: [], kept: [], warnings: [] });
    expect(seen).not.toHaveProperty('syncProblem');
    for (const change of [
      () => they.templates.update(open.id, { name: 'x' }),
      () => they.templates.resync(open.id),
      () => they.templates.replaceServices(open.id, []),
      () => they.templates.delete(open.id),
    ])
      expect(await refusedWith(change())).toMatch(/^404 /);
    const listed = await they.templates.list();
    expect(listed.map(({ id }) => id)).toContain(open.id);
    expect(listed.map(({ id }) => id)).not.toContain(own.id);
    expect(await they.templates.list({ teamId: theirTeam })).toEqual([]);
    const project = await they.projects.create({ name: 'theirs', teamId: theirTeam });
    const { environment } = await they.projects.deployTemplate(project.id, open.id, 'theirs');
    expect(environment).toMatchObject({ teamId: theirTeam, repository: 'https://github.com/acme/shop' });
    // A slug is the team's own first; among public ones it is one's.
    const same = await create({ slug: open.slug }, they);
    expect((await they.templates.get(open.slug)).id).toBe(same.id);
    expect(await refusedWith(they.templates.update(same.id, { visibility: 'public' }))).toMatch(
      /^409 name_taken /,
    );
    expect(await refusedWith(create({ slug: own.slug }))).toMatch(/^409 name_taken /);
  });

  it('keep a hundred revisions, and those that environments were made from', async () => {
    const { id } = await create();
    const { environment } = await sdk.templates.deploy(projectId, id, 'of-the-first');
    await sdk.templates.update(id, { buildCommand: 'make' });
    const { sql } = background.server.db;
    await sql`update templates set revision = 150 where id = ${id}`;
    await sdk.templates.update(id, { buildCommand: 'make all' });
    const rows =
      await sql`select revision from template_revisions where template_id = ${id} order by revision`;
    expect(rows).toEqual([{ revision: 1 }, { revision: 151 }]);
    expect(await sdk.templates.ofEnvironment(environment?.id ?? '')).toMatchObject({
      revision: 1,
      newestRevision: 151,
    });
  });

  it('are at most two hundred in a team', async () => {
    const { token, teamId: theirTeam } = await stranger(background.server);
    const first = await create({}, as(token));
    await background.server.db.sql`
      insert into templates (id, team_id, slug, visibility, repository, recipe, base, revision, sync_state, kept, warnings, created_at, updated_at)
      select t.id || n, t.team_id, 'many-' || n, 'team', t.repository, t.recipe, t.base, 1, 'none', '[]', '[]', now(), now()
      from templates t, generate_series(1, 199) n where t.id = ${first.id}`;
    expect(await refusedWith(create({}, as(token)))).toMatch(/^409 limit_reached /);
    expect(await as(token).templates.list({ teamId: theirTeam, limit: 500 })).toHaveLength(200);
  });

  it('are published, and changed when they are public, by admins alone', async () => {
    const open = await create({ visibility: 'public' });
    const { token } = await join(background.server, background.server.first.apiKey, {
      teamId,
      role: 'developer',
    });
    const developer = as(token);
    for (const act of [
      () => create({ visibility: 'public', teamId }, developer),
      () => developer.templates.update(open.id, { name: 'x' }),
      () => developer.templates.delete(open.id),
      () => developer.templates.resync(open.id),
    ])
      expect(await refusedWith(act())).toMatch(/^403 role_insufficient /);
    const own = await create({ teamId }, developer);
    expect(await refusedWith(developer.templates.update(own.id, { visibility: 'public' }))).toMatch(/^403 /);
    expect(await developer.templates.update(own.id, { name: 'Y', description: '' })).toMatchObject({
      name: 'Y',
      revision: 2,
    });
  });

  it('are at most ten services, one of each database, and no nonsense', async () => {
    const { id } = await create();
    const replaced = async (services: readonly object[]) =>
      await refusedWith(sdk.templates.replaceServices(id, services as never));
    const storage = (n: number) => ({
      name: `s${n}`,
      kind: 'storage',
      hostPath: `s${n}`,
      containerPath: `/s${n}`,
    });
    const redis = { kind: 'database', databaseType: 'redis' };
    expect(await replaced(Array.from({ length: 11 }, (_, n) => storage(n)))).toMatch(/^400 /);
    expect(
      await replaced([
        { name: 'a', ...redis },
        { name: 'b', ...redis },
      ]),
    ).toMatch(/services\[1\].kind/);
    expect(await replaced([storage(1), storage(1)])).toMatch(/services\[1\].name/);
    expect(await replaced([{ name: 'a', kind: 'database' }])).toMatch(/databaseType is missing/);
    expect(await replaced([{ name: 'a', kind: 'storage', hostPath: 'a' }])).toMatch(
      /containerPath is missing/,
    );
    expect(await replaced([{ ...storage(1), image: 'x' }])).toMatch(/image is nothing that a service/);
    expect(await replaced([{ ...storage(1), containerPath: '/proc/1' }])).toMatch(/below \/proc/);
    await sdk.templates.replaceServices(id, [storage(1) as never]);
    expect(await sdk.templates.replaceServices(id, [])).toMatchObject({ services: [], revision: 3 });
  });
});
