/**
 * How many statements members may bring and make. What counts and what does not have limits of their own, so
 * that nobody fills the room of the other; what the service states by itself is not counted against anybody.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { apiError } from '@svc/proto/http/errors.ts';
import type { Ctx } from '../../kit/context.ts';
import { EVALUATION_SUFFIX } from './statement.ts';

/** Statements of an artifact that count, those that do not, and evaluations: so many of each. */
const STATEMENTS_MAX = 1_000;
const EVALUATIONS_OF_ONE_MAX = 200;
/** Statements of a team that do not count. */
const UNCOUNTED_MAX = 10_000;
/** Subjects of these in all: one may be about a thousand. */
const UNCOUNTED_SUBJECTS_MAX = 100_000;

interface Counting {
  readonly teamId: string;
  readonly digest: string;
  readonly doesCount: boolean;
  /** Number of its subjects. */
  readonly subjects: number;
}

export async function refuseMoreUploads(
  { db: { sql } }: Ctx,
  { teamId, digest, doesCount, subjects }: Counting,
): Promise<void> {
  const what = doesCount ? 'attestations that are verified' : 'attestations that are not verified';
  const [count] = await sql<Array<{ ofArtifact: number; ofTeam: number }>>`
    select (
        select count(*)::int from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
        where s.team_id = ${teamId} and s.digest = ${digest} and a.source = 'upload' and (a.counts_as is not null) = ${doesCount}::bool
      ) as "ofArtifact", case when ${doesCount}::bool then 0 else (
        select count(*)::int from attestations a where a.team_id = ${teamId} and a.counts_as is null and a.source = 'upload'
      ) end as "ofTeam"`;
  const { ofArtifact = 0, ofTeam = 0 } = count ?? {};
  if (ofArtifact >= STATEMENTS_MAX)
    throw tooMany(`the artifact has ${ofArtifact} ${what}`, ofArtifact, STATEMENTS_MAX);
  if (ofTeam >= UNCOUNTED_MAX) throw tooMany(`the team has ${ofTeam} ${what}`, ofTeam, UNCOUNTED_MAX);
  if (doesCount || subjects === 1) return;
  const [found] = await sql<Array<{ count: number }>>`
    select count(*)::int as count from (
      select from attestations a join attestation_subjects s on s.attestation_id = a.id
      where a.team_id = ${teamId} and a.counts_as is null and a.source = 'upload' limit ${UNCOUNTED_SUBJECTS_MAX}::int
    ) s`;
  const all = (found?.count ?? 0) + subjects;
  if (all > UNCOUNTED_SUBJECTS_MAX)
    throw tooMany(`${what} would be about ${all} subjects`, all, UNCOUNTED_SUBJECTS_MAX);
}

export async function refuseMoreEvaluations(
  { db: { sql }, caller: { userId } }: Ctx,
  teamId: string,
  digest: string,
): Promise<void> {
  const [count] = await sql<Array<{ all: number; own: number }>>`
    select count(*)::int as all, (count(*) filter (where split_part(a.counts_as, ' ', 1) = ${userId}))::int as own
    from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
    where s.team_id = ${teamId} and s.digest = ${digest} and a.source = 'platform' and right(a.predicate_type, ${EVALUATION_SUFFIX.length}::int) = ${EVALUATION_SUFFIX}`;
  const { all = 0, own = 0 } = count ?? {};
  if (all >= STATEMENTS_MAX) throw tooMany(`the artifact has ${all} evaluations`, all, STATEMENTS_MAX);
  if (own >= EVALUATIONS_OF_ONE_MAX)
    throw tooMany(`the artifact has ${own} evaluations that you stated`, own, EVALUATIONS_OF_ONE_MAX);
}

function tooMany(what: string, current: number, limit: number): Error {
  return apiError('limit_reached', `${what}, at most ${limit} are kept; an admin can remove some`, {
    details: { resource: 'attestation', limit, current },
  });
}
