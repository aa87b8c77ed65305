/**
 * Keeps what a gate saw. Packages are the greatest part of it by far and the same in most builds:
 * their place is taken by the id of a set, which is immutable, so that whoever judges the input again sees
 * what the gate saw.
 */
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ArtifactFacts } from '../artifacts/index.ts';
import { emptyArtifact, type Packages, type PolicyArtifact, type PolicyInput } from './engine/input.ts';
import type { Passage } from './passage.ts';

type RecordedArtifact = Omit<PolicyArtifact, 'packages'> & {
  /**
   * Ids of the sets of its lists. None, or null: nothing is known of its packages. Versions before 0.11
   * recorded one id.
   */
  readonly packages: readonly number[] | number | null;
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
    ...artifacts.map(({ packageSetIds, ...artifact }) => ({ ...artifact, packages: packageSetIds })),
    ...uncatalogued.map((artifact) => ({ ...emptyArtifact(), ...artifact, packages: null })),
  ],
});

/** Hashes the text that hashes everywhere alike: the database keeps members in an order of its own. */
export function inputSha256(recorded: RecordedInput): Uint8Array {
  const text = canonicalize(recorded);
  if (text === undefined) throw new Error('an input has no JSON form');
  return createHash('sha256').update(text).digest();
}

export const setsOf = (inputs: readonly RecordedInput[]): readonly number[] => [
  ...new Set(inputs.flatMap(({ artifacts }) => artifacts.flatMap(({ packages }) => packages ?? []))),
];

/**
 * Without them where no policy names them. What several lists state just so is there once, and what they
 * state otherwise is there as each does: a licence that either names counts.
 */
export const withPackages = (recorded: RecordedInput, packages: PackagesOfSets | undefined): PolicyInput => ({
  ...recorded,
  artifacts: recorded.artifacts.map(({ packages: sets, ...artifact }) => ({
    ...artifact,
    packages:
      packages === undefined
        ? null
        : [...new Set([sets ?? []].flat().flatMap((id) => packages.get(id) ?? []))],
  })),
});
