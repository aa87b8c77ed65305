/** What policies are told of statements about artifacts: each is verified anew, because keys are revoked and trust is withdrawn. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TeamScope } from '../../platform/context.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Statement } from './envelope.ts';
import type { Attestation } from './read.ts';
import { EVALUATION_SUFFIX, PROVENANCE_TYPE } from './statement.ts';
import { verifyBundle } from './verify.ts';
import type { Keys } from './verify.ts';

/** Of one artifact; a policy is not asked about one with more. */
export const ATTESTATIONS_MAX = 100;
/** Of all bundles that are read at once. */
const BUNDLES_BYTES_MAX = 4_194_304;

/** An address, of which nothing has to be escaped where it is kept. */
const BUILDER_ID = /^[\x21-\x7e]{1,500}$/;

export interface AttestationFacts {
  readonly predicateType: string;
  readonly verified: boolean;
  /** Empty: nobody known. */
  readonly signer: string;
  /** Of provenance; else empty. */
  readonly builderId: string;
}

/** Of an evaluation that the service recorded. */
export interface EvaluationFacts {
  readonly suiteId: string;
  readonly score: number;
  readonly evaluatedAt: string;
}

export interface StatedFacts {
  readonly attestations: readonly AttestationFacts[];
  readonly evaluations: readonly EvaluationFacts[];
}

const NONE: AttestationFacts = { predicateType: '', verified: false, signer: '', builderId: '' };
/** One more than a policy takes stands for what is not read: part of the statements would be a lie, and this is refused. */
const TOO_MANY: StatedFacts = {
  attestations: Array.from({ length: ATTESTATIONS_MAX + 1 }, () => NONE),
  evaluations: [],
};

interface Found extends Pick<Attestation, 'predicateType' | 'source' | 'createdAt'> {
  readonly digest: string;
  /** Null: beyond the bounds. */
  readonly bundle: Uint8Array | null;
}

export interface Asked {
  readonly db: Database;
  readonly teams: TeamScope;
  readonly keys: Keys;
}

/** By digest; one about which nothing is stated is missing. */
export async function attestationFacts(
  { db, teams, keys }: Asked,
  digests: readonly string[],
): Promise<ReadonlyMap<string, StatedFacts>> {
  const rows = await db.sql<Found[]>`
    select digest, predicate_type as "predicateType", source, created_at as "createdAt",
      case when place <= ${ATTESTATIONS_MAX}::int and bytes <= ${BUNDLES_BYTES_MAX}::int then bundle end as bundle
    from (
      select s.digest, a.predicate_type, a.source, a.created_at, a.bundle,
        row_number() over (partition by s.digest order by a.id) as place,
        sum(octet_length(a.bundle)) over (order by s.digest, a.id) as bytes
      from attestation_subjects s join attestations a on a.team_id = s.team_id and a.id = s.attestation_id
      where s.team_id = any(${[...teams.teamIds]}::text[]) and s.digest = any(${[...digests]}::text[])
    ) of
    where place <= ${ATTESTATIONS_MAX + 1}::int
    order by digest, place`;
  const byDigest = new Map<string, Found[]>();
  for (const row of rows) {
    const same = byDigest.get(row.digest);
    if (same === undefined) byDigest.set(row.digest, [row]);
    else same.push(row);
  }
  const facts = new Map<string, StatedFacts>();
  for (const [digest, found] of byDigest) {
    const isRead = found.every(({ bundle }) => bundle !== null);
    facts.set(digest, isRead ? statedBy(found, keys) : TOO_MANY);
    await nextTurn(); // A hundred signatures take some 15 ms.
  }
  return facts;
}

function statedBy(found: readonly Found[], keys: Keys): StatedFacts {
  const all = found.map((row) => factsOf(row, keys));
  return {
    attestations: all.map(({ facts }) => facts),
    evaluations: all.flatMap(({ facts, evaluation }) => (facts.verified && evaluation ? [evaluation] : [])),
  };
}

interface Facts {
  readonly facts: AttestationFacts;
  readonly evaluation: EvaluationFacts | undefined;
}

function factsOf({ bundle, digest, createdAt, source, predicateType }: Found, keys: Keys): Facts {
  const expected = { digest, storedAt: createdAt, isOurs: source === 'platform' };
  const { status, signer = '', statement } = verifyBundle(bundle ?? new Uint8Array(), keys, expected);
  const evaluation = source === 'platform' ? evaluationOf(statement) : undefined;
  const facts = { predicateType, verified: status === 'valid', signer, builderId: builderOf(statement) };
  return { facts, evaluation };
}

/** As the service itself writes one. */
function evaluationOf(statement: Statement | undefined): EvaluationFacts | undefined {
  if (statement?.predicateType.endsWith(EVALUATION_SUFFIX) !== true) return undefined;
  const { suiteId, score, evaluatedAt } = statement.json['predicate'] as EvaluationFacts;
  return { suiteId, score, evaluatedAt };
}

function builderOf(statement: Statement | undefined): string {
  if (statement?.predicateType !== PROVENANCE_TYPE) return '';
  let at: unknown = statement.json;
  for (const name of ['predicate', 'runDetails', 'builder', 'id']) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return '';
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return typeof at === 'string' && BUILDER_ID.test(at) ? at : '';
}
