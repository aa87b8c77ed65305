/**
 * What a statement must say to be taken from others. What was stored before is judged by its signature as it
 * was.
 */
import { memberAt, membersOf, type Statement } from './envelope.ts';

const SHOWN_CHARS = 100;
/** https://github.com/in-toto/attestation/blob/main/spec/v1/digest_set.md: values are hex in lower case. */
const HEX_CHARS: ReadonlyMap<string, readonly number[]> = new Map([
  ['md5', [32]],
  ['sha1', [40]],
  ['sha224', [56]],
  ['sha256', [64]],
  ['sha384', [96]],
  ['sha512', [128]],
  ['gitBlob', [40, 64]],
  ['gitCommit', [40, 64]],
  ['gitTag', [40, 64]],
  ['gitTree', [40, 64]],
]);

/**
 * A predicate must name these, by its type: https://slsa.dev/spec/v1.0/provenance and
 * https://slsa.dev/spec/v0.2/provenance
 */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ['https://slsa.dev/provenance/v1', ['buildDefinition.buildType', 'runDetails.builder.id']],
  ['https://slsa.dev/provenance/v0.2', ['buildType', 'builder.id']],
  ['https://slsa.dev/provenance/v0.1', ['recipe.type', 'builder.id']],
]);

/** Says what is wrong with a statement, and returns undefined where nothing is. */
export function problemOf({ json, predicateType }: Statement): string | undefined {
  const { subject, predicate } = json;
  for (const [at, each] of (subject as readonly unknown[]).entries()) {
    const problem = digestProblem(membersOf(each)['digest']);
    if (problem !== undefined) return `subject ${at + 1} ${problem}`;
  }
  const missing = (NEEDED.get(predicateType) ?? []).find((path) => !isText(memberAt(predicate, path)));
  if (missing === undefined) return undefined;
  return `its predicate of type ${predicateType} has no text at "${missing}", which names ${missing.endsWith('id') ? 'who built it' : 'how it was built'}`;
}

function digestProblem(digest: unknown): string | undefined {
  const all = Object.entries(membersOf(digest));
  if (all.length === 0) return 'has no digest, expected an object such as {"sha256": "<64 hex digits>"}';
  const wrong = all.find(([name, value]) => !isHex(value, HEX_CHARS.get(name)));
  if (wrong === undefined) return undefined;
  const [name, value] = wrong;
  const chars = HEX_CHARS.get(name)?.join(' or ');
  return `has the ${name.slice(0, SHOWN_CHARS)} ${JSON.stringify(value)?.slice(0, SHOWN_CHARS)}, expected ${chars === undefined ? '' : `${chars} `}hex digits in lower case`;
}

const isHex = (value: unknown, chars: readonly number[] | undefined): boolean =>
  typeof value === 'string' && /^[0-9a-f]+$/.test(value) && (chars?.includes(value.length) ?? true);

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
