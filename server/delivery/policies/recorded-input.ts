/**
 * What a gate saw, as it is kept. Packages are the greatest part of it by far and the same in most builds: their place is taken by the id of a set, which is immutable, so that
 * whoever judges the input again sees what the gate saw.
 */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ArtifactFacts } from '../artifacts/index.ts';
import { emptyArtifact } from './engine/input.ts';
import type { Packages, PolicyArtifact, PolicyInput } from './engine/input.ts';
import type { Passage } from './passage.ts';

type RecordedArtifact = Omit<PolicyArtifact, 'packages'> & {
  /** Id of the set; null: nothing is known of its packages. */
  readonly packages: number | null;
};

export type RecordedInput = Omit<PolicyInput, 'artifacts'> & {
  readonly artifacts: readonly RecordedArtifact[];
};

export type PackagesOfSets = ReadonlyMap<number, Packages>;

export const recordedInput = (
  input: PolicyInput,
  artifacts: readonly ArtifactFacts[],
  uncatalogued: NonNullable<Passage['uncatalogued']> = [],
): RecordedInput => ({
  ...input,
  artifacts: [
    ...artifacts.map(({ packageSetId, ...artifact }) => ({ ...artifact, packages: packageSetId })),
    ...uncatalogued.map((artifact) => ({ ...emptyArtifact(), ...artifact, packages: null })),
  ],
});

/** Of the text that hashes everywhere alike: the database keeps members in an order of its own. */
export function inputSha256(recorded: RecordedInput): Uint8Array {
  const text = canonicalize(recorded);
  if (text === undefined) throw new Error('an input has no JSON form');
  return createHash('sha256').update(text).digest();
}

export const setsOf = (inputs: readonly RecordedInput[]): readonly number[] => [
  ...new Set(inputs.flatMap(({ artifacts }) => artifacts.flatMap(({ packages }) => packages ?? []))),
];

/** Without them where no policy names them. */
export const withPackages = (recorded: RecordedInput, packages: PackagesOfSets | undefined): PolicyInput => ({
  ...recorded,
  artifacts: recorded.artifacts.map(({ packages: set, ...artifact }) => ({
    ...artifact,
    packages: packages === undefined ? null : set === null ? [] : (packages.get(set) ?? []),
  })),
});
