/**
 * Reports come to the same run in whatever order, and under whichever names, they are received. Over the real
 * door.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { PROVIDERS } from '../providers/known.ts';
import { SEQUENCES } from '../../../test/setup/ci/sequences.ts';
import type { CiProvider } from '../providers/words.ts';
import { hook, readDeliveries, runNamed, send } from '../../../test/setup/ci/hooked.ts';
import type { Hooked } from '../../../test/setup/ci/hooked.ts';

const SHA = '3484a3fb816e0859fd6e1cea078d76385ff50625';
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
  let server: TestServer;
  let as: string;
  beforeAll(async () => {
    server = await startTestServer();
    as = server.first.apiKey;
  });
  afterAll(async () => await server.stop());

  let made = 0;
  /** Makes a connection of the same repository at a host of its own, so that each order has a connection. */
  const fresh = async (provider: CiProvider, more: object = {}): Promise<Hooked> => {
    made += 1;
    return await hook(server, provider, { repositoryHost: `h${made}.example.com`, ...more });
  };
  const told = (run: Record<string, unknown>) =>
    Object.fromEntries(TOLD.map((name) => [name, run[name] ?? null]));
  const jobsOf = async (run: Record<string, unknown>) => {
    const { body } = await server.call(`GET /ci/runs/${String(run['id'])}/jobs`, { as });
    const jobs = body['jobs'] as Array<Record<string, unknown>>;
    return jobs.map(({ name, status }) => `${String(name)} ${String(status)}`).sort();
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
          const answer = await send(hooked, payloads[index], {
            headers,
            sending: { deliveryId: `d${index}` },
          });
          expect([200, 202]).toContain(answer.status);
        };
        if (atOnce) await Promise.all(sent.map(post));
        else for (const index of sent) await post(index);
        await readDeliveries(server, hooked);
        const run = await runNamed(server, hooked, {
          externalRunId: first.run.externalRunId,
          attempt: first.run.externalAttempt,
        });
        expect(told(run)).toMatchObject(end);
        ends.push([told(run), await jobsOf(run)]);
      }
      for (const other of ends) expect(other).toEqual(ends[0]);
    },
    LIMIT_MS,
  );

  describe('a run that is told of under several names', () => {
    interface Named {
      readonly provider: CiProvider;
      readonly headers: Readonly<Record<string, string>>;
      /** As the job names it, and as it is stored in the end. */
      readonly direct: string;
      readonly real: string;
      readonly webhooks: readonly unknown[];
    }

    const drone = (status: string, version: number) => ({
      event: 'build',
      repo: { uid: '9', slug: 'acme/app' },
      build: {
        id: 100,
        number: 5,
        status,
        version,
        after: SHA,
        target: 'main',
        stages: [{ id: 1, number: 1, name: 'default', status }],
      },
    });
    const span = {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                {
                  name: 'bbc.pipeline_run',
                  attributes: [
                    { key: 'pipeline_run.uuid', value: { stringValue: '{abc}' } },
                    { key: 'pipeline.build_number', value: { intValue: '17' } },
                    { key: 'pipeline.repository.uuid', value: { stringValue: '{repo}' } },
                    { key: 'pipeline.state.result.name', value: { stringValue: 'FAILED' } },
                  ],
                  startTimeUnixNano: '1700000000000000000',
                  endTimeUnixNano: '1700000060000000000',
                },
              ],
            },
          ],
        },
      ],
    };
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
    const jenkins = (phase: string, status?: string) => ({
      name: 'app',
      build: {
        full_url: 'https://ci.example.com/job/app/3/',
        number: 3,
        phase,
        status,
        scm: { commit: SHA },
      },
    });
    const NAMED: readonly Named[] = [
      {
        provider: 'drone',
        headers: { 'x-drone-event': 'build' },
        direct: 'acme/app#5',
        real: '100',
        webhooks: [drone('running', 2), drone('failure', 3)],
      },
      {
        provider: 'bitbucket',
        headers: {},
        direct: '17',
        real: 'abc',
        webhooks: [bitbucketStatus, span],
      },
      {
        provider: 'jenkins',
        headers: {},
        direct: 'app#3',
        real: 'https://ci.example.com/job/app/3/',
        webhooks: [jenkins('STARTED'), jenkins('FINALIZED', 'FAILURE')],
      },
    ];

    it.each(NAMED.map((one) => [one.provider, one] as const))(
      '%s: is one run in any order',
      async (provider, one) => {
        const { headers, direct, real, webhooks } = one;
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
            const body = {
              ciConnectionId: hooked.connectionId,
              externalRunId: direct,
              status: 'running',
              branch: 'main',
            };
            const { status, text, body: run } = await server.call('POST /ci/runs', { as, body });
            expect([200, 201], text).toContain(status);
            ids.push(String(run['id']));
          };
          const act = async (step: string | number) => {
            if (step === 'report') return await report();
            if (typeof step === 'number') {
              expect((await send(hooked, webhooks[step], { headers })).status).toBe(202);
              if (n % 2 === 0) await readDeliveries(server, hooked);
              return;
            }
            await report();
            const body = { jobs: [{ name: 'unit', externalJobId: 'j1', status: 'success' }] };
            const reported = await server.call(`POST /ci/runs/${ids.at(-1)}/jobs`, { as, body });
            expect(reported.status, reported.text).toBe(200);
          };
          for (const step of order) await act(step);
          const deliveries = await readDeliveries(server, hooked);
          expect((await runsOf(hooked)).map(({ name }) => name)).toEqual([real]);
          const run = await runNamed(server, hooked, { externalRunId: real });
          // Whoever was given an id goes on with it, whichever row stayed.
          for (const id of ids)
            expect((await server.call(`GET /ci/runs/${id}`, { as })).body['id']).toBe(run['id']);
          expect((await runNamed(server, hooked, { externalRunId: direct }))['id']).toBe(run['id']);
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
          server.call('POST /ci/runs', {
            as,
            body: {
              ciConnectionId: hooked.connectionId,
              externalRunId: `acme/app#${number}`,
              status: 'success',
            },
          }),
          send(hooked, {
            event: 'build',
            repo: { slug: 'acme/app' },
            build: { id: 1_000 + number, number, status: 'success', version: 1, after: SHA, target: 'main' },
          }),
        ]),
      );
      await readDeliveries(server, hooked);
      const names = (await runsOf(hooked)).map(({ name }) => Number(name));
      expect(names.sort((a, b) => a - b)).toEqual(numbers.map((number) => 1_000 + number));
    });

    it('stays apart from another run with the same lesser name', async () => {
      const hooked = await fresh('jenkins');
      const at = (folder: string) => ({
        name: 'app',
        build: { full_url: `https://ci.example.com/job/${folder}/job/app/3/`, number: 3, phase: 'STARTED' },
      });
      await send(hooked, at('a'));
      await readDeliveries(server, hooked);
      await send(hooked, at('b'));
      await readDeliveries(server, hooked);
      expect(await runsOf(hooked)).toHaveLength(2);
    });
  });
});
