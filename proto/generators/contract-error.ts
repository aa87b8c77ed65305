/** Everything that is wrong with the contracts, found in one pass, so that it can be mended in one pass. */
export class ContractError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `${problems.length} contract ${problems.length === 1 ? 'error' : 'errors'}:\n${problems.map((p) => `  ${p}`).join('\n')}`,
    );
    this.name = 'ContractError';
    this.problems = problems;
  }
}

/** Collects problems; `at` is the full name of the RPC, field or enum value that they are about. */
export interface Problems {
  add(at: string, problem: string): void;
}

/** Says what is wrong with one element of the contracts. */
export type Report = (problem: string) => void;

export function reportOf(problems: Problems, at: string): Report {
  return (problem) => problems.add(at, problem);
}
