/**
 * Builds without doors: a team with environments, the service called as the pipeline does, and short ways to
 * play its runners.
 */
import { randomBytes } from 'node:crypto';
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { BuildsService } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { newId } from '../../../server/base/ids.ts';
import { createSecrets } from '../../../server/base/secrets.ts';
import { createPoll } from '../../../server/engine/work/poll.ts';
import type { Grant } from '../../../server/engine/work/poll.ts';
import { createHeartbeat } from '../../../server/engine/work/heartbeat.ts';
import type { LeaseStatus } from '../../../server/engine/work/heartbeat.ts';
import { createReport } from '../../../server/engine/work/report.ts';
import type { ReportInput } from '../../../server/engine/work/report.ts';
import { callUnary, testCtx } from '../work/ctx.ts';
import { createWorld, randomKey } from '../work/world.ts';
import type { Lease, World } from '../work/world.ts';
import { createWake } from '../../../server/engine/work/wake.ts';
import type { Wake } from '../../../server/engine/work/wake.ts';
import { createGuards } from '../../../server/apps/environments/index.ts';
import { createBuilds } from '../../../server/engine/builds/index.ts';

export const OUTCOME = {
  commit: 'c'.repeat(40),
  buildType: 'dockerfile',
  image: 'registry.example.com/acme/web',
  digest: `sha256:${'d'.repeat(64)}`,
  address: undefined,
  phase: 0,
  phases: [],
} as const;

export interface BuildWorld extends World {
  readonly teamId: string;
  readonly wake: Wake;
  environment(more?: { readonly deploy?: object; readonly deployApproval?: boolean }): Promise<string>;
  call<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
  ): Promise<MessageShape<O>>;
  /** As the pipeline streams it. */
  stream(request: object, signal?: AbortSignal): AsyncIterable<Record<string, unknown>>;
  submitBuild(environmentId: string): Promise<string>;
  pollBuild(runnerId: string, pollId?: string): Promise<Grant | undefined>;
  beatBuild(runnerId: string, lease: Lease & { readonly phase?: number }): Promise<LeaseStatus | undefined>;
  /** The build ended with exit code 0, unless `report` has something else. */
  reportBuild(
    runnerId: string,
    report: Lease & Partial<ReportInput>,
  ): Promise<{ readonly repeated: boolean }>;
  row(buildId: string): Promise<Record<string, unknown>>;
}

export async function createBuildWorld(
  overrides: Parameters<typeof createWorld>[0] = {},
): Promise<BuildWorld> {
  const world = await createWorld(overrides);
  const { db, queue, settings, userId } = world;
  const { sql } = db;
  const poll = createPoll(sql, settings);
  const heartbeat = createHeartbeat(sql, settings);
  const report = createReport(sql, settings);
  const teamId = await world.team();
  const projectId = newId('prj');
  await sql`insert into projects (id, team_id, name, slug, created_at) values (${projectId}, ${teamId}, 'web', ${randomKey('web')}, now())`;
  await sql`
    insert into users (id, email, username, password_hash, created_at)
    values (${userId}, 'builder@example.com', 'builder', '', now())`;
  const secrets = createSecrets(randomBytes(32));
  const wake = createWake();
  const onError = (error: unknown): void => {
    throw error;
  };
  const handlers = createBuilds({
    queue,
    submit: world.submitWork,
    settings,
    secrets,
    localRegistry: '127.0.0.1:5000',
    missingRegistry: async () => undefined,
    wake,
    guards: createGuards(() => []),
    traceViewerUrl: 'https://traces.example.com/t/{traceId}',
    publicUrl: () => 'http://127.0.0.1:8080',
    wakeRelay: () => undefined,
    gate: async () => ({ isOverridden: false, keep: async () => undefined }),
    onError,
  });
  const options = { db, userId, teamIds: [teamId] };
  return {
    ...world,
    teamId,
    wake,
    environment: async ({ deploy, deployApproval = false } = {}) => {
      const id = newId('env');
      // Each its own app, as the team's index wants it.
      const target = deploy === undefined ? null : db.sql.json({ ...deploy, app: randomKey('app') } as never);
      await db.sql`
        insert into environments (id, team_id, project_id, name, repository, deploy, deploy_approval, created_at, updated_at)
        values (${id}, ${teamId}, ${projectId}, ${randomKey('e')}, 'https://git.example.com/acme/web',
          ${target}, ${deployApproval}, now(), now())`;
      return id;
    },
    call: async (method, request) => await callUnary(handlers, method, { request, options }),
    stream: async function* (request, signal) {
      const id = `${BuildsService.typeName}/StreamLogs`;
      const ctx = testCtx(id, { ...options, ...(signal === undefined ? {} : { signal }) });
      yield* (await handlers.methods.get(id)?.(request as never, ctx)) as AsyncIterable<
        Record<string, unknown>
      >;
    },
    submitBuild: async (environmentId) =>
      (await callUnary(handlers, BuildsService.method.create, { request: { environmentId }, options })).id,
    pollBuild: async (runnerId, pollId = randomKey('poll')) =>
      (
        await poll({
          runnerId,
          bootId: '',
          kind: 'build',
          pollId,
          notReady: [],
          wantsWork: true,
        })
      )?.grant,
    beatBuild: async (runnerId, lease) =>
      (
        await heartbeat({
          runnerId,
          bootId: '',
          leases: [{ phase: 0, ...lease }],
          draining: false,
        })
      )?.leases[0]?.status,
    reportBuild: async (runnerId, ended) =>
      await report({
        runnerId,
        kind: 'build',
        reportId: 'report-00',
        reason: 'exit',
        exitCode: 0,
        message: undefined,
        durationMs: undefined,
        waitedMs: 0,
        build: OUTCOME,
        ...ended,
      }),
    row: async (buildId) => {
      const [row] = await db.sql`select * from builds where id = ${buildId}`;
      if (row === undefined) throw new Error(`no build ${buildId}`);
      return row;
    },
  };
}
