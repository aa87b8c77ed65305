/**
 * This benchmark is about what runners host, over the real doors: what a runner asks when one of its 200 apps
 * has changed beside one read by its key, a heartbeat of a runner that hosts 200 apps beside one that hosts
 * none, a search in 10,000 repositories beside a list of projects, the newest lines of an access log that is
 * full, and an environment made of a template, with variables, storage, a database and its first build,
 * beside an empty one. Calls are made in turn, one at a time.
 */
import { performance } from 'node:perf_hooks';
import { createSvcSDK } from '@svc/sdk';
import postgres from 'postgres';
import { FACTS } from '../e2e/independent-runner.ts';
import { scriptedRunner } from '../setup/builds/scripted-runner.ts';
import { startTestServer } from '../setup/server.ts';
import { figure, percentile, type Figure } from './figure.ts';

const APPS = 200;
const REPOSITORIES = 10_000;
const CALLS = 400;
const WARM_UP = 50;
/** A project has 200 environments at most. */
const DEPLOYS = { calls: 60, warmUp: 10 };
/** They fill the ring of a log. */
const LOG_CALLS = 30;
const LOG_LINES = Array.from({ length: 200 }, (_, n) => ({
  at: '2026-01-02T03:04:05.678Z',
  remote: '203.0.113.0',
  method: 'GET',
  host: 'app.acme.dev',
  path: `/products/${n}?…`,
  status: 200,
  bytes: 1_234,
  durationMs: 12,
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
}));

async function timed(call: () => PromiseLike<unknown>): Promise<number> {
  const began = performance.now();
  await call();
  return performance.now() - began;
}

async function isAnswered(call: Promise<{ status: number }>): Promise<void> {
  const { status } = await call;
  if (status !== 200) throw new Error(`a call of a runner was answered ${status}`);
}

/** Times of calls that are made in turn, in milliseconds. */
async function inTurn<Name extends string>(
  calls: Readonly<Record<Name, (n: number) => Promise<unknown>>>,
  { calls: count, warmUp } = { calls: CALLS, warmUp: WARM_UP },
): Promise<Record<Name, number[]>> {
  const names = Object.keys(calls) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let n = 0; n < count + warmUp; n += 1)
    // Each comes after each other one as often: a call finds what the one before it has left warm.
    for (const name of n % 2 === 0 ? names : names.toReversed()) {
      const ms = await timed(async () => await calls[name](n));
      if (n >= warmUp) times[name].push(ms);
    }
  return times;
}

export async function run(): Promise<Figure[]> {
  const server = await startTestServer();
  const owner = postgres(server.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const { teamId, apiKey } = server.first;
    const sdk = createSvcSDK({ baseUrl: server.baseUrl, apiKey });
    const enrolled = async () =>
      await scriptedRunner(server.baseUrl, (await sdk.runners.createEnrollToken(teamId)).token);
    const [hosting, idle] = [await enrolled(), await enrolled()];
    const project = await sdk.projects.create({ name: 'bench', teamId });
    await owner`
      insert into environments (id, team_id, project_id, name, deploy, created_at, updated_at)
      select 'env_bench' || n, ${teamId}, ${project.id}, 'e' || n, jsonb_build_object('kind', 'container', 'app', 'app-' || n, 'containerPort', 80, 'hostPort', 0), now(), now()
      from generate_series(1, ${APPS}::int) n`;
    await owner`
      insert into host_apps (environment_id, team_id, runner_id, kind, app, container_port)
      select id, team_id, ${hosting.runnerId}, 'container', deploy ->> 'app', 80 from environments where id like 'env_bench%'`;
    await owner`insert into repository_sources (team_id, source, connection_id) values (${teamId}, 'bench', 'cic_bench')`;
    await owner`insert into repository_refreshes (team_id, asked_at) values (${teamId}, now() + interval '1 day')`;
    await owner`
      insert into forge_repositories (team_id, source, key, host, path, forge, seen_at)
      select ${teamId}, 'bench', 'github.com/acme/web-' || n, 'github.com', 'acme/web-' || n, 'github', now() from generate_series(1, ${REPOSITORIES}::int) n`;
    await owner`update runners set host = '{"edge": {"driver": "nginx"}}' where id = ${hosting.runnerId}`;
    for (let seq = 1; seq <= LOG_CALLS; seq += 1)
      await isAnswered(
        hosting.call('host-logs', {
          logs: [{ environmentId: 'env_bench1', kind: 'access', seq, lines: LOG_LINES }],
        }),
      );
    await owner`analyze`;
    const have = Object.fromEntries(Array.from({ length: APPS }, (_, n) => [`env_bench${n + 1}`, 1]));
    const times = await inTurn({
      read: async () => await sdk.projects.get(project.id),
      // Each time another one is lacking, as after a change.
      sync: async (n) =>
        await isAnswered(hosting.call('host', { have: { ...have, [`env_bench${(n % APPS) + 1}`]: 0 } })),
      beat: async () => await isAnswered(hosting.call('heartbeat', {})),
      idleBeat: async () => await isAnswered(idle.call('heartbeat', {})),
      logs: async () => await sdk.environments.nginxLogs('env_bench1', 'access'),
      projects: async () => await sdk.projects.listPage({ limit: 50 }),
      repositories: async (n) => await sdk.repositories.list({ teamId, q: `web-${n % 1_000}` }),
    });
    const host = { volumes: true, databases: true };
    await owner`update teams set region_id = (select id from regions where operator = 'customer') where id = ${teamId}`;
    await isAnswered(hosting.call('heartbeat', { facts: { ...FACTS, host } }));
    const shop = await sdk.projects.create({ name: 'shop', teamId });
    const repository = 'https://git.example.com/acme/shop';
    const { id: model } = await sdk.environments.create(shop.id, { name: 'model', repository });
    await sdk.environments.update(model, { deploy: { kind: 'container', app: 'model' } });
    await sdk.variables.setMany(model, { LOG_LEVEL: 'info', REGION: 'eu' });
    await sdk.buildSteps.add(model, 'npm ci && npm test');
    await sdk.storage.create(model, 'uploads', '/srv/uploads');
    await sdk.database.create(model, 'postgres');
    const template = await sdk.templates.createFromEnvironment(model, { name: 'shop' });
    const made = await inTurn(
      {
        environment: async (n) =>
          await sdk.environments.create(shop.id, {
            name: `plain-${n}`,
            repository,
            deploy: { kind: 'container', app: `plain-${n}` },
          }),
        template: async (n) => await sdk.projects.deployTemplate(shop.id, template.id, `made-${n}`),
      },
      DEPLOYS,
    );
    const [p50, p95] = [0.5, 0.95].map((at) => (name: keyof typeof times) => percentile(times[name], at));
    const of = { p50: p50!, p95: p95! };
    return [
      figure({
        name: `a runner of ${APPS} apps asks what it should host, one has changed, p50`,
        value: of.p50('sync'),
        unit: 'ms',
        reference: 'GET of a project, both over HTTP',
        referenceValue: of.p50('read'),
        target: '≤ 2 ×',
        pass: (_, ratio) => ratio <= 2,
      }),
      figure({
        name: `heartbeat of a runner of ${APPS} apps, unchanged, p50`,
        value: of.p50('beat'),
        unit: 'ms',
        reference: 'of one that hosts nothing',
        referenceValue: of.p50('idleBeat'),
        target: '≤ 1.05 ×',
        pass: (_, ratio) => ratio <= 1.05,
      }),
      figure({
        name: `search in ${REPOSITORIES} repositories, p95`,
        value: of.p95('repositories'),
        unit: 'ms',
        reference: 'a list of projects',
        referenceValue: of.p95('projects'),
        target: '≤ 3 ×',
        pass: (_, ratio) => ratio <= 3,
      }),
      figure({
        name: 'nginxLogs with a full ring, p95',
        value: of.p95('logs'),
        unit: 'ms',
        reference: 'GET of a project',
        referenceValue: of.p95('read'),
        target: '≤ 3 ×',
        pass: (_, ratio) => ratio <= 3,
      }),
      figure({
        name: 'deployTemplate with variables, storage, a database and a build, p50',
        value: percentile(made.template, 0.5),
        unit: 'ms',
        reference: 'environments.create',
        referenceValue: percentile(made.environment, 0.5),
        target: '≤ 4 ×',
        pass: (_, ratio) => ratio <= 4,
      }),
    ];
  } finally {
    await owner.end();
    await server.stop();
  }
}
