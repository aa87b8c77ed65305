/** Findings of the judge say which promise was broken, and where, with evidence. */

/** The names I1 to I13 are those of the list of invariants that the faults were planned against. */
export type Invariant =
  | `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13}`
  /** Beside the list: nothing that published or deployed is run again without a person's word. */
  | 'once'
  /** Each report is metered once, and every sum of money is that of its parts. */
  | 'money';

export interface Violation {
  readonly invariant: Invariant;
  /** Work item, submission or project that it is about. */
  readonly about: string;
  readonly message: string;
  readonly evidence: unknown;
}

/** Collects what is found: of an invariant, about an item. */
export function findings() {
  const found: Violation[] = [];
  const of =
    (invariant: Invariant, about: string) =>
    (message: string, evidence: unknown): void =>
      void found.push({ invariant, about, message, evidence });
  return { found, of };
}
