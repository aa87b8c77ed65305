/**
 * Policies are told of statements about artifacts here: each is verified anew, because keys are revoked and
 * trust is withdrawn. What does not verify is not told of: it must neither count nor fill what a gate may
 * read. Of what counts as the same one statement is read; of those of the service's keys the oldest, which a
 * revocation with a time spares, and else the newest.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TeamScope } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { memberAt, membersOf, type Statement } from './envelope.ts';
import type { Attestation } from './read.ts';
import { EVALUATION_SUFFIX, isEvaluation, PROVENANCE_TYPE } from './statement.ts';
import { prepareBundle } from './large.ts';
import { verifyBundle, type Keys } from './verify.ts';

/**
 * The most statements of one artifact, and as many evaluations that members stated and as many that were
 * signed; a policy is not asked about one with more.
 */
export const ATTESTATIONS_MAX = 100;
/** The most bytes of all bundles that are read at once, and as much of evaluations. */
const BUNDLES_BYTES_MAX = 4_194_304;
/** The most bytes of one bundle: eight long ones are read as well. */
const COUNTED_BYTES_MAX = 524_288;
/**
 * Suites of one artifact that count of one account: those that it stated last. Others have room beside
 * whoever states much.
 */
const SUITES_OF_ONE_MAX = 10;

const SUITE_CHARS_MAX = 200;
/** Range of the timestamps of policies. */
const TIMES = { from: new Date('0001-01-01T00:00:00Z'), until: new Date('9999-12-31T00:00:00Z') };
/** An address, of which nothing has to be escaped where it is kept. */
const BUILDER_ID = /^[\x21-\x7e]{1,500}$/;

export interface AttestationFacts {
  readonly predicateType: string;
  readonly verified: boolean;
  /** The name is empty where nobody known signed it. */
  readonly signer: string;
  /** Builder that provenance names; it is empty for any other statement. */
  readonly builderId: string;
}

/**
 * `self_attested`: a member said so, and the service recorded it. `signed`: a key or an identity that the
 * team trusts for it signed it. No result comes from the platform itself.
 */
export type AssuranceLevel = 'self_attested' | 'signed';

export interface EvaluationFacts {
  readonly suiteId: string;
  readonly score: number;
  readonly evaluatedAt: string;
  /** Never by what the statement says of itself. */
  readonly assuranceLevel: AssuranceLevel;
  /** Account; empty for what was brought. */
  readonly statedBy: string;
  /** The signer is named as for attestations. */
  readonly signer: string;
}

export interface StatedFacts {
  readonly attestations: readonly AttestationFacts[];
  readonly evaluations: readonly EvaluationFacts[];
}

const NONE: AttestationFacts = { predicateType: '', verified: false, signer: '', builderId: '' };
/**
 * One more than a policy takes stands for what is not read: part of the statements would be a lie, and this
 * is refused.
 */
const TOO_MANY: StatedFacts = {
  attestations: Array.from({ length: ATTESTATIONS_MAX + 1 }, () => NONE),
  evaluations: [],
};

interface StoredStatement extends Pick<Attestation, 'predicateType' | 'source' | 'createdAt'> {
  readonly digest: string;
  /** The bundle is null beyond the bounds. */
  readonly bundle: Uint8Array | null;
}

export interface FactsReader {
  readonly db: Database;
  readonly teams: TeamScope;
  readonly keys: Keys;
}

/** Facts are found by digest; one about which nothing is stated is missing. */
export async function attestationFacts(
  { db, teams, keys }: FactsReader,
  digests: readonly string[],
): Promise<ReadonlyMap<string, StatedFacts>> {
  const rows = await db.sql<StoredStatement[]>`
    with counting as (
      select s.digest, a.id, a.predicate_type, a.source, a.created_at, e.is_evaluation, coalesce(a.brief, a.bundle) as bundle, a.source = 'platform' and not e.is_evaluation as is_ours,
        coalesce(a.counts_as, a.id) as counts_as
      from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
        cross join lateral (select right(a.predicate_type, ${EVALUATION_SUFFIX.length}::int) = ${EVALUATION_SUFFIX} as is_evaluation) e
      where s.team_id = any(${teams.teamIds}::text[]) and s.digest = any(${[...digests]}::text[])
        and (a.counts_as is not null or a.source = 'platform')
    ), one_of_same as (
      select distinct on (digest, source, predicate_type, counts_as) * from counting
      order by digest, source, predicate_type, counts_as, case when is_ours then id end, id desc
    ), of_one as (
      select *, case when is_evaluation then source end as side, row_number() over (partition by digest, source, is_evaluation, split_part(counts_as, ' ', 1) order by id desc) as suite from one_of_same
    ), placed as (
      select *, row_number() over (partition by digest, is_evaluation, side order by id) as place, sum(least(octet_length(bundle), ${COUNTED_BYTES_MAX}::int)) over (partition by is_evaluation, side order by digest, id) as bytes
      from of_one where suite <= ${SUITES_OF_ONE_MAX}::int or not is_evaluation or source <> 'platform'
    )
    select digest, predicate_type as "predicateType", source, created_at as "createdAt",
      case when place <= ${ATTESTATIONS_MAX}::int and bytes <= ${BUNDLES_BYTES_MAX}::int then bundle end as bundle
    from placed where place <= ${ATTESTATIONS_MAX + 1}::int
    order by digest, is_evaluation, side, id`;
  const byDigest = new Map<string, readonly StoredStatement[]>();
  for (const row of rows) byDigest.set(row.digest, [...(byDigest.get(row.digest) ?? []), row]);
  const facts = new Map<string, StatedFacts>();
  for (const [digest, found] of byDigest) {
    const isRead = found.every(({ bundle }) => bundle !== null);
    for (const { bundle } of found) if (bundle !== null) await prepareBundle(bundle, keys);
    facts.set(digest, isRead ? statedBy(found, keys) : TOO_MANY);
    await nextTurn(); // A hundred signatures take some 15 ms.
  }
  return facts;
}

function statedBy(found: readonly StoredStatement[], keys: Keys): StatedFacts {
  const all = found.map((row) => factsOf(row, keys)).filter(({ facts }) => facts.verified);
  const others = all.flatMap(({ facts, evaluation }) => (evaluation === undefined ? [facts] : []));
  // Each signer of evaluations has one entry that says there are some: what they say is told of as
  // evaluations.
  const evaluated = new Map(
    all.flatMap(({ facts, evaluation }) => (evaluation === undefined ? [] : [[facts.signer, facts]])),
  );
  return {
    attestations: [
      ...others,
      ...[...evaluated.values()].slice(0, Math.max(0, ATTESTATIONS_MAX - others.length)),
    ],
    evaluations: all.flatMap(({ evaluation }) => evaluation ?? []),
  };
}

interface Facts {
  readonly facts: AttestationFacts;
  readonly evaluation: EvaluationFacts | undefined;
}

function factsOf({ bundle, digest, createdAt, source, predicateType }: StoredStatement, keys: Keys): Facts {
  const expected = { digest, storedAt: createdAt, isOurs: source === 'platform' };
  const { status, signer = '', statement } = verifyBundle(bundle ?? new Uint8Array(), keys, expected);
  const evaluation = evaluationOf(statement, { isOurs: source === 'platform', signer });
  const facts = { predicateType, verified: status === 'valid', signer, builderId: builderOf(statement) };
  return { facts, evaluation };
}

/** Returns undefined for what is no evaluation, or does not say what one says. */
function evaluationOf(
  statement: Statement | undefined,
  { isOurs, signer }: { readonly isOurs: boolean; readonly signer: string },
): EvaluationFacts | undefined {
  if (statement === undefined || !isEvaluation(statement.predicateType)) return undefined;
  const { suiteId, score, evaluatedAt, statedBy } = membersOf(statement.json['predicate']);
  if (typeof suiteId !== 'string' || suiteId.length > SUITE_CHARS_MAX) return undefined;
  if (typeof score !== 'number' || typeof evaluatedAt !== 'string') return undefined;
  const at = new Date(evaluatedAt);
  if (!Number.isFinite(score) || !(at >= TIMES.from && at < TIMES.until)) return undefined;
  return {
    suiteId,
    score,
    evaluatedAt: at.toISOString(),
    assuranceLevel: isOurs ? 'self_attested' : 'signed',
    statedBy: isOurs && typeof statedBy === 'string' ? statedBy : '',
    signer,
  };
}

export function builderOf(statement: Statement | undefined): string {
  if (statement?.predicateType !== PROVENANCE_TYPE) return '';
  const at = memberAt(statement.json, 'predicate.runDetails.builder.id');
  return typeof at === 'string' && BUILDER_ID.test(at) ? at : '';
}
