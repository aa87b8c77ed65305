/**
 * States how an artifact did in an evaluation, as the service: it vouches for who said so and when, and for
 * nothing else. A sandbox run that is named is a reference: it hands over no result of its own.
 */
import { hash } from 'node:crypto';
import { toJson } from '@bufbuild/protobuf';
import { timestampDate, ValueSchema } from '@bufbuild/protobuf/wkt';
import canonicalize from 'canonicalize';
import type { AttestEvaluationRequest } from '@svc/proto/gen/svc/artifacts/v1/artifacts_pb.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import type { Ctx } from '../../kit/context.ts';
import { auditActor } from '../../kit/ledger/index.ts';
import { notFound } from '../../kit/not-found.ts';
import {
  attest,
  EVALUATION_SUFFIX,
  evaluationCountsAs,
  refuseMoreEvaluations,
  type AssuranceLevel,
  type Attestation,
} from '../attestations/index.ts';
import type { Signer } from '../signingkeys/index.ts';
import type { Artifact } from './read.ts';

const AHEAD_MS = 5 * 60_000;
const CASES_MAX = 10_000;

export interface EvaluationDeps {
  readonly signer: Signer;
  readonly typeBase: string;
}

export async function attestEvaluation(
  { signer, typeBase }: EvaluationDeps,
  ctx: Ctx,
  { about, request }: { readonly about: Artifact; readonly request: AttestEvaluationRequest },
): Promise<Attestation> {
  const { teamId, digest, name } = about;
  const now = ctx.clock.now();
  const content = contentOf(request, now);
  const run = request.sandboxRunId === undefined ? undefined : await runOf(ctx, teamId, request.sandboxRunId);
  const predicate = {
    ...content,
    assuranceLevel: 'self_attested' satisfies AssuranceLevel,
    statedBy: ctx.caller.userId,
    ...(run && { sandboxRun: run }),
  };
  await refuseMoreEvaluations(ctx, teamId, digest);
  const { suiteId, score, evaluatedAt, assuranceLevel, statedBy } = predicate;
  const actor = auditActor(ctx);
  return await attest(
    { db: ctx.db, signer },
    {
      teamId,
      purpose: 'platform',
      dedupeKey: `evaluation:${digest}:${hash('sha256', canonicalize(predicate) ?? '', 'hex')}`,
      at: now,
      predicateType: `${typeBase}${EVALUATION_SUFFIX}`,
      subjects: [{ name, digest }],
      predicate,
      brief: { suiteId, score, evaluatedAt, assuranceLevel, statedBy },
      countsAs: evaluationCountsAs(statedBy, suiteId),
      entry: { action: 'artifact.evaluated', actor, requestId: ctx.call.requestId },
    },
  );
}

/** Checks what the caller says, and returns it as it is stated. */
function contentOf(request: AttestEvaluationRequest, now: Date) {
  const { suiteId, suiteName, score, methodologyVersion } = request;
  const evaluatedAt = timestampDate(request.evaluatedAt!); // The contract demands it.
  if (evaluatedAt.getTime() > now.getTime() + AHEAD_MS)
    throw problem(
      'evaluatedAt',
      'ahead',
      `is ${evaluatedAt.toISOString()}, at most five minutes ahead are taken`,
    );
  const { caseResults } = request;
  const cases = caseResults?.kind.case === undefined ? null : toJson(ValueSchema, caseResults);
  if (typeof cases !== 'object' || cases === null)
    throw problem('caseResults', 'shape', `is ${typeof cases}, expected a list or an object`);
  const count = Array.isArray(cases) ? cases.length : Object.keys(cases).length;
  if (count > CASES_MAX)
    throw problem('caseResults', 'max_items', `has ${count} cases, at most ${CASES_MAX} are taken`);
  const about = { suiteId, suiteName, score, evaluatedAt: evaluatedAt.toISOString() };
  return { ...about, methodologyVersion, caseResults: cases };
}

async function runOf({ db: { sql }, teams }: Ctx, teamId: string, runId: string) {
  const [run] = await sql<Array<Readonly<Record<string, string | number | null>>>>`
    select id, state, exit_code as "exitCode", runner_id as "runnerId", nullif(encode(log_sha256, 'hex'), '') as "logSha256" from work_items
    where id = ${runId} and team_id = ${teamId} and team_id = any(${teams.teamIds}::text[]) and kind = 'run'`;
  if (run === undefined) throw notFound('sandbox run');
  return run;
}
