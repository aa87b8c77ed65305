/**
 * Submits a run: fills in what the caller left open, seals what only the runner may read, and stores it in
 * one statement.
 */
import { toBinary } from '@bufbuild/protobuf';
import {
  SandboxRunSchema,
  type CreateRequest,
  type SandboxRun,
} from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { problemOfImage } from '@svc/proto/images/reference.ts';
import type { Ctx } from '../../kit/context.ts';
import { replay } from '../../kit/idempotency.ts';
import { newId } from '../../base/ids.ts';
import type { Secrets } from '../../base/secrets.ts';
import { refuseOthersImage } from '../registries/index.ts';
import { agentOf, isolationWord, placementOf, sealInput, type RunSpec, type Submit } from '../work/index.ts';
import { newRow, toMessage } from './row.ts';

export interface CreateDeps {
  readonly submit: Submit;
  readonly secrets: Pick<Secrets, 'seal'>;
  /** Host and port of the service's local registry. */
  readonly localRegistry: string;
}

const COMMAND_BYTES_MAX = 131_072;
/** The runner's own line about cut-off output still fits behind the run's limit. */
const LOG_SLACK_BYTES = 4_096;
const DEFAULT_WORKDIR = '/workspace';

export const DEFAULT_LIMITS: RunSpec['limits'] = {
  timeoutSeconds: 600,
  memoryMb: 512,
  cpus: 1,
  pids: 256,
  outputBytes: 16_777_216,
};

export async function createRun(deps: CreateDeps, request: CreateRequest, ctx: Ctx): Promise<SandboxRun> {
  const createdAt = ctx.clock.now();
  const id = newId('run', createdAt.getTime());
  const spec = specOf(deps.secrets, id, request);
  const { teamId, labels } = request;
  refuseOthersImage({ ...deps, teamId }, request.image);
  const placement = placementOf(request);
  const answer = toMessage(newRow({ id, teamId, spec, labels, createdAt, ...placement }));
  const work = {
    id,
    kind: 'run',
    teamId,
    createdBy: ctx.caller.userId,
    agent: agentOf(ctx.caller),
    createdAt,
    spec,
    labels,
    placement,
    needsContainer: spec.isolation === 'container',
    timeoutMs: spec.limits.timeoutSeconds * 1_000,
    logLimit: spec.limits.outputBytes + LOG_SLACK_BYTES,
  } as const;
  const claim = ctx.idempotency;
  const keyed =
    claim === undefined
      ? undefined
      : { status: ctx.call.rpc.successStatus, ...claim, response: toBinary(SandboxRunSchema, answer) };
  const earlier =
    work.agent === undefined
      ? await deps.submit({ work, keyed })
      : await ctx.db.transact(async (db) => await deps.submit.within(db, { work, keyed }));
  if (earlier === undefined) return answer;
  if (claim === undefined) throw new Error('an answer was found for a call without a key');
  return replay(ctx.call, claim, earlier) as SandboxRun;
}

function specOf(secrets: Pick<Secrets, 'seal'>, id: string, request: CreateRequest): RunSpec {
  const bytes = request.command.reduce((sum, word) => sum + Buffer.byteLength(word), 0);
  if (bytes > COMMAND_BYTES_MAX)
    throw wrongField(
      `command is ${bytes} bytes long, at most ${COMMAND_BYTES_MAX} are taken; put data into stdin`,
      { resource: 'sandbox run', field: 'command', rule: 'max_bytes' },
    );
  const { env, stdin, image, limits } = request;
  const problem = image === undefined ? undefined : problemOfImage(image);
  if (problem !== undefined)
    throw wrongField(`image cannot be ${JSON.stringify(image)}: ${problem}`, {
      resource: 'sandbox run',
      field: 'image',
      rule: 'reference',
    });
  const sealed = sealInput(secrets, id, stdin === undefined ? { env } : { env, stdin });
  return {
    purpose: 'agent_task',
    ...(image === undefined ? {} : { image }),
    command: request.command,
    envNames: Object.keys(env).toSorted(),
    workdir: request.workdir ?? DEFAULT_WORKDIR,
    ...(sealed === undefined ? {} : { sealed }),
    network: 'none',
    isolation: request.isolation === undefined ? 'any' : isolationWord(request.isolation),
    limits: {
      timeoutSeconds: limits?.timeoutSeconds ?? DEFAULT_LIMITS.timeoutSeconds,
      memoryMb: limits?.memoryMb ?? DEFAULT_LIMITS.memoryMb,
      cpus: limits?.cpus ?? DEFAULT_LIMITS.cpus,
      pids: limits?.pids ?? DEFAULT_LIMITS.pids,
      outputBytes: limits?.outputBytes ?? DEFAULT_LIMITS.outputBytes,
    },
  };
}
