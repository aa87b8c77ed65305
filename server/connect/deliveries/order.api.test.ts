/**
 * Reports come to the same run in whatever order, and under whichever names, they are received. Over the real
 * door.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { PROVIDERS } from '../providers/known.ts';
import { bitbucketSpan, drone, jenkins, SEQUENCES, SHA } from '../../../test/setup/ci/sequences.ts';
import type { CiProvider } from '../providers/words.ts';
import { hook, type Hooked } from '../../../test/setup/ci/hooked.ts';

/** Many calls, on a machine that may have other work. */
const LIMIT_MS = 90_000;
/** Returns what a run comes to, without the names that each connection gives it and the times of receipt. */
const TOLD = [
  'externalRunId',
  'externalAttempt',
  'status',
  'providerStatus',
  'providerConclusion',
  'blocked',
  'soft',
  'reason',
  'commitSha',
  'branch',
  'tag',
  'externalUrl',
  'pipelineName',
  'trigger',
  'actor',
];

describe.skipIf(!(await has('postgres')))('the order of webhooks', () => {
  const { server, call, ok, made } = ownServer();

  let hosts = 0;
  /** Makes a connection of the same repository at a host of its own, so that each order has a connection. */
  const fresh = async (provider: CiProvider, more: object = {}): Promise<Hooked> => {
    hosts += 1;
    return await hook(server, provider, { repositoryHost: `h${hosts}.example.com`, ...more });
  };
  const told = (run: Record<string, unknown>) =>
    Object.fromEntries(TOLD.map((name) => [name, run[name] ?? null]));
  const jobsOf = async (run: Record<string, unknown>) => {
    type Page = { jobs: Array<{ name: string; status: string }> };
    const { jobs } = await ok<Page>(`GET /ci/runs/${String(run['id'])}/jobs`);
    return jobs.map(({ name, status }) => `${name} ${status}`).sort();
  };
  const runsOf = async ({ connectionId }: Hooked) =>
    await server.db.sql<Array<{ id: string; name: string }>>`
      select id, external_run_id as name from ci_runs where connection_id = ${connectionId}`;

  it.each(SEQUENCES.map((one) => [one.name, one] as const))(
    '%s',
    async (_name, sequence) => {
      const { provider, headers, payloads, end } = sequence;
      const first = PROVIDERS[provider].normalise(headers, payloads[0]);
      if ('ignored' in first) throw new Error(first.ignored);
      const indexes = payloads.map((_payload, index) => index);
      const order = fc.tuple(
        fc.shuffledSubarray(indexes, { minLength: indexes.length }),
        fc.array(fc.constantFrom(...indexes), { maxLength: 4 }),
        fc.boolean(),
      );
      const ends: unknown[] = [];
      const orders = [[indexes, [], false] as const, ...fc.sample(order, 2)];
      for (const [permuted, again, atOnce] of orders) {
        const hooked = await fresh(provider);
        const sent = [...permuted, ...again];
        const post = async (index: number) => {
          const answer = await hooked.send(payloads[index], headers, { deliveryId: `d${index}` });
          expect([200, 202]).toContain(answer.status);
        };
        if (atOnce) await Promise.all(sent.map(post));
        else for (const index of sent) await post(index);
        await hooked.deliveries();
        const run = await hooked.run(first.run.externalRunId, first.run.externalAttempt);
        expect(told(run)).toMatchObject(end);
        ends.push([told(run), await jobsOf(run)]);
      }
      for (const other of ends) expect(other).toEqual(ends[0]);
    },
    LIMIT_MS,
  );

  describe('a run that is told of under several names', () => {
    const droneStages = (status: string, version: number) => {
      const { build, ...rest } = drone(status, version);
      return { ...rest, build: { ...build, stages: [{ id: 1, number: 1, name: 'default', status }] } };
    };
    const span = bitbucketSpan({
      'pipeline_run.uuid': { stringValue: '{abc}' },
      'pipeline.build_number': { intValue: '17' },
      'pipeline.repository.uuid': { stringValue: '{repo}' },
      'pipeline.state.result.name': { stringValue: 'FAILED' },
    });
    const bitbucketStatus = {
      repository: { uuid: '{repo}', full_name: 'acme/app' },
      commit_status: {
        key: 'build',
        state: 'INPROGRESS',
        url: 'https://bitbucket.org/acme/app/pipelines/results/17',
        updated_on: '2023-11-14T22:13:21.000000+00:00',
        commit: { hash: SHA },
      },
    };
    const jenkinsCommit = (phase: string, status?: string) => {
      const { name, build } = jenkins(phase, status);
      return { name, build: { ...build, scm: { commit: SHA } } };
    };

    /** `direct` is how the job names the run, `real` is how it is stored in the end. */
    it.each([
      {
        provider: 'drone',
        headers: { 'x-drone-event': 'build' },
        direct: 'acme/app#5',
        real: '100',
        webhooks: [droneStages('running', 2), droneStages('failure', 3)],
      },
      { provider: 'bitbucket', headers: {}, direct: '17', real: 'abc', webhooks: [bitbucketStatus, span] },
      {
        provider: 'jenkins',
        headers: {},
        direct: 'app#3',
        real: 'https://ci.example.com/job/app/3/',
        webhooks: [jenkinsCommit('STARTED'), jenkinsCommit('FINALIZED', 'FAILURE')],
      },
    ] as const)(
      '$provider: is one run in any order',
      async ({ provider, headers, direct, real, webhooks }) => {
        const steps = ['report', 'jobs', ...webhooks.map((_webhook, index) => index)];
        const orders = [
          steps,
          steps.toReversed(),
          ...fc.sample(fc.shuffledSubarray(steps, { minLength: 4 }), 2),
        ];
        const ends: unknown[] = [];
        for (const [n, order] of orders.entries()) {
          const hooked = await fresh(provider, { ingestMode: 'both' });
          const ids: string[] = [];
          const report = async () => {
            const report = { externalRunId: direct, status: 'running', branch: 'main' };
            ids.push(await made('POST /ci/runs', { ciConnectionId: hooked.connectionId, ...report }));
          };
          const act = async (step: string | number) => {
            if (step === 'report') return await report();
            if (typeof step === 'number') {
              expect((await hooked.send(webhooks[step], headers)).status).toBe(202);
              if (n % 2 === 0) await hooked.deliveries();
              return;
            }
            await report();
            const jobs = [{ name: 'unit', externalJobId: 'j1', status: 'success' }];
            await ok(`POST /ci/runs/${ids.at(-1)}/jobs`, { jobs });
          };
          for (const step of order) await act(step);
          const deliveries = await hooked.deliveries();
          expect((await runsOf(hooked)).map(({ name }) => name)).toEqual([real]);
          const run = await hooked.run(real);
          // Whoever was given an id goes on with it, whichever row stayed.
          for (const id of ids) expect((await call(`GET /ci/runs/${id}`)).body['id']).toBe(run['id']);
          expect((await hooked.run(direct))['id']).toBe(run['id']);
          expect(new Set(deliveries.map(({ runId }) => runId))).toEqual(new Set([run['id']]));
          ends.push([told(run), await jobsOf(run)]);
          expect(run).toMatchObject({ status: 'failed', commitSha: SHA, branch: 'main' });
        }
        for (const other of ends) expect(other).toEqual(ends[0]);
      },
      LIMIT_MS,
    );

    it('is one run when job and webhook tell of it at the same moment', async () => {
      const hooked = await fresh('drone', { ingestMode: 'both' });
      const numbers = Array.from({ length: 20 }, (_one, n) => n + 1);
      await Promise.all(
        numbers.flatMap((number) => [
          call('POST /ci/runs', {
            ciConnectionId: hooked.connectionId,
            externalRunId: `acme/app#${number}`,
            status: 'success',
          }),
          hooked.send({
            event: 'build',
            repo: { slug: 'acme/app' },
            build: { id: 1_000 + number, number, status: 'success', version: 1, after: SHA, target: 'main' },
          }),
        ]),
      );
      await hooked.deliveries();
      const names = (await runsOf(hooked)).map(({ name }) => Number(name));
      expect(names.sort((a, b) => a - b)).toEqual(numbers.map((number) => 1_000 + number));
    });

    it('stays apart from another run with the same lesser name', async () => {
      const hooked = await fresh('jenkins');
      const at = (folder: string) => ({
        name: 'app',
        build: { full_url: `https://ci.example.com/job/${folder}/job/app/3/`, number: 3, phase: 'STARTED' },
      });
      await hooked.deliver(at('a'));
      await hooked.deliver(at('b'));
      expect(await runsOf(hooked)).toHaveLength(2);
    });
  });
});
