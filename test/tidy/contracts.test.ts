/**
 * A contract imports those of its own feature and of the features on which that stands, and nothing that
 * stands above (DESIGN 3). Features say which contracts are theirs; the check says how many it read.
 */
import { describe, expect, it } from 'vitest';
import { FEATURES } from '../../server/areas.ts';
import type { Declared } from '../../server/kit/feature.ts';
import { sources, type Source } from './sources.ts';

type Storey = Pick<Declared, 'name' | 'contracts'> & { readonly on: Readonly<Record<string, Storey>> };

/** Package that says how RPCs are described. It belongs to no feature. */
const OPTIONS = 'options';
const CONTRACT = /^proto\/svc\/([a-z]+)\/v1\/[a-z]+\.proto$/;

const contractOf = (path: string) => CONTRACT.exec(path)?.[1];

function importsOf({ text }: Source): string[] {
  return [...text.matchAll(/^import (?:public )?"([^"]+)";/gm)].flatMap(
    ([, path]) => contractOf(`proto/${path}`) ?? [],
  );
}

/** Contracts that one of the feature may import. */
function below({ contracts, on }: Storey): ReadonlySet<string> {
  return new Set([...contracts, ...Object.values(on).flatMap((feature) => [...below(feature)])]);
}

export function contractViolations(features: readonly Storey[], files: readonly Source[]): string[] {
  return files.flatMap((file) => {
    const name = contractOf(file.path);
    if (name === undefined || name === OPTIONS) return [];
    const owners = features.filter(({ contracts }) => contracts.includes(name));
    const [owner] = owners;
    if (owner === undefined) return [`${file.path} belongs to no feature`];
    if (owners.length > 1) return [`${file.path} belongs to ${owners.map((one) => one.name).join(' and ')}`];
    const allowed = below(owner);
    return importsOf(file)
      .filter((other) => other !== OPTIONS && !allowed.has(other))
      .map((other) => `${name} imports ${other}, on which ${owner.name} does not stand`);
  });
}

/** Contracts that features name beside their own name, and that are not there. */
export function missingContracts(features: readonly Storey[], files: readonly Source[]): string[] {
  const there = new Set(files.map(({ path }) => contractOf(path)));
  return features.flatMap(({ name, contracts }) =>
    contracts
      .filter((contract) => contract !== name && !there.has(contract))
      .map((contract) => `${name} names the contract ${contract}, which is not there`),
  );
}

describe('contracts', () => {
  const files = sources(['proto/svc/*.proto']);

  it('import what stands below them alone', () => {
    expect(files.filter(({ path }) => contractOf(path) === undefined)).toEqual([]);
    expect(files.length).toBeGreaterThan(40);
    expect(files.flatMap(importsOf).filter((name) => name !== OPTIONS).length).toBeGreaterThan(15);
    expect(contractViolations(FEATURES, files)).toEqual([]);
    expect(missingContracts(FEATURES, files)).toEqual([]);
  });

  it('are seen where they run up, sideways, or belong to nobody', () => {
    const of = (name: string, other: string) => ({
      path: `proto/svc/${name}/v1/${name}.proto`,
      text: `syntax = "proto3";\nimport "svc/${other}/v1/${other}.proto";\nimport "svc/options/v1/options.proto";\n`,
    });
    const planted = [
      of('teams', 'billing'),
      of('builds', 'sandboxruns'),
      of('builds', 'teams'),
      of('webhooks', 'ci'),
      of('gadgets', 'teams'),
    ];
    expect(contractViolations(FEATURES, planted)).toEqual([
      'teams imports billing, on which teams does not stand',
      'builds imports sandboxruns, on which builds does not stand',
      'proto/svc/gadgets/v1/gadgets.proto belongs to no feature',
    ]);
    const twice = { name: 'other', contracts: ['teams', 'nothing'], on: {} };
    expect(contractViolations([...FEATURES, twice], planted.slice(0, 1))).toEqual([
      'proto/svc/teams/v1/teams.proto belongs to teams and other',
    ]);
    expect(missingContracts([twice], files)).toEqual([
      'other names the contract nothing, which is not there',
    ]);
  });
});
