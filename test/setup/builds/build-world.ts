/**
 * Builds without doors: a team with environments, the service called as the pipeline does, and short ways to
 * play its runners.
 */
import { randomBytes } from 'node:crypto';
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { BuildsService } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { newId } from '../../../server/base/ids.ts';
import { createSecrets } from '../../../server/base/secrets.ts';
import type { ReportInput } from '../../../server/engine/work/report.ts';
import { callUnary, testCtx } from '../work/ctx.ts';
import { createWorld, randomKey, type Lease } from '../work/world.ts';
import { createWake } from '../../../server/engine/work/wake.ts';
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

export type BuildWorld = Awaited<ReturnType<typeof createBuildWorld>>;

export async function createBuildWorld(overrides: Parameters<typeof createWorld>[0] = {}) {
  const world = await createWorld(overrides);
  const { db, queue, settings, userId } = world;
  const { sql } = db;
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
    missingVariables: async () => [],
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
    environment: async ({
      deploy,
      deployApproval = false,
    }: { readonly deploy?: object; readonly deployApproval?: boolean } = {}): Promise<string> => {
      const id = newId('env');
      // Each its own app, as the team's index wants it.
      const target = deploy === undefined ? null : db.sql.json({ ...deploy, app: randomKey('app') } as never);
      await db.sql`
        insert into environments (id, team_id, project_id, name, repository, deploy, deploy_approval, created_at, updated_at)
        values (${id}, ${teamId}, ${projectId}, ${randomKey('e')}, 'https://git.example.com/acme/web',
          ${target}, ${deployApproval}, now(), now())`;
      return id;
    },
    call: async <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageInitShape<I>,
    ): Promise<MessageShape<O>> => await callUnary(handlers, method, { request, options }),
    /** Streams as the pipeline does. */
    stream: async function* (request: object, signal?: AbortSignal): AsyncIterable<Record<string, unknown>> {
      const id = `${BuildsService.typeName}/StreamLogs`;
      const ctx = testCtx(id, { ...options, ...(signal === undefined ? {} : { signal }) });
      yield* (await handlers.methods.get(id)?.(request as never, ctx)) as AsyncIterable<
        Record<string, unknown>
      >;
    },
    submitBuild: async (environmentId: string) =>
      (await callUnary(handlers, BuildsService.method.create, { request: { environmentId }, options })).id,
    pollBuild: async (runnerId: string, pollId = randomKey('poll')) =>
      await world.poll(runnerId, pollId, 'build'),
    beatBuild: async (runnerId: string, lease: Lease & { readonly phase?: number }) =>
      await world.beat(runnerId, { phase: 0, ...lease }),
    /** The build ended with exit code 0, unless `ended` has something else. */
    reportBuild: async (runnerId: string, ended: Lease & Partial<ReportInput>) =>
      await world.report(runnerId, { kind: 'build', build: OUTCOME, ...ended }),
    row: async (buildId: string): Promise<Record<string, unknown>> => {
      const [row] = await db.sql`select * from builds where id = ${buildId}`;
      if (row === undefined) throw new Error(`no build ${buildId}`);
      return row;
    },
  };
}
