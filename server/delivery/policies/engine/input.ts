/**
 * The rules of a policy are given this: one shape for all actions, as data. The types, the check of
 * expressions and the values in the thread come from it. Parts that an action does not have are empty and
 * never missing, so that a rule needs no `has()`.
 */

export type Scalar = 'bool' | 'int' | 'double' | 'string' | 'timestamp';
export type Shape = Scalar | ListShape | ObjectShape;
export interface ListShape {
  readonly list: Shape;
  /** More elements are refused, never cut: a rule that holds for all of them must have seen all of them. */
  readonly max: number;
}
export interface ObjectShape {
  readonly fields: Readonly<Record<string, Shape>>;
}

const strings = (max: number) => ({ list: 'string', max }) as const;

const ATTESTATION = {
  fields: { predicateType: 'string', verified: 'bool', signer: 'string', builderId: 'string' },
} as const;
const PACKAGE = {
  fields: { type: 'string', name: 'string', version: 'string', licenses: strings(50) },
} as const;
const EVALUATION = {
  fields: {
    suiteId: 'string',
    score: 'double',
    evaluatedAt: 'timestamp',
    assuranceLevel: 'string',
    statedBy: 'string',
    signer: 'string',
  },
} as const;
const ARTIFACT = {
  fields: {
    id: 'string',
    kind: 'string',
    name: 'string',
    digest: 'string',
    origin: 'string',
    repository: 'string',
    branch: 'string',
    commit: 'string',
    runner: 'string',
    attestations: { list: ATTESTATION, max: 100 },
    packages: { list: PACKAGE, max: 10_000 },
    evaluations: { list: EVALUATION, max: 200 },
    sbom: { fields: { present: 'bool', byRunner: 'bool', packages: 'int', unread: strings(100) } },
  },
} as const;
export const INPUT = {
  fields: {
    action: 'string',
    now: 'timestamp',
    actor: { fields: { id: 'string', kind: 'string', role: 'string' } },
    team: { fields: { id: 'string', name: 'string' } },
    project: { fields: { id: 'string', name: 'string' } },
    environment: {
      fields: {
        id: 'string',
        name: 'string',
        region: 'string',
        operator: 'string',
        promotionsOnly: 'bool',
        requiredApprovals: 'int',
      },
    },
    build: {
      fields: { id: 'string', number: 'int', branch: 'string', commit: 'string', trigger: 'string' },
    },
    release: { fields: { id: 'string', version: 'string' } },
    promotion: { fields: { id: 'string', requestedBy: 'string', approvals: strings(100) } },
    // As many as a release has.
    artifacts: { list: ARTIFACT, max: 100 },
  },
} as const satisfies ObjectShape;

type ValueOf<S> = S extends 'bool'
  ? boolean
  : S extends 'int' | 'double'
    ? number
    : S extends 'string' | 'timestamp'
      ? string
      : S extends { readonly list: infer E }
        ? readonly ValueOf<E>[]
        : S extends { readonly fields: infer F }
          ? { readonly [K in keyof F]: ValueOf<F[K]> }
          : never;

export type Packages = ValueOf<typeof ARTIFACT>['packages'];
export type PolicyArtifact = Omit<ValueOf<typeof ARTIFACT>, 'packages'> & {
  /**
   * Packages; they are null where they were not read, because no policy names them. One that gets there all
   * the same ends in an error.
   */
  readonly packages: Packages | null;
};
/** JSON, as it is recorded: a timestamp is a text of RFC 3339, or empty for 1970. */
export type PolicyInput = Omit<ValueOf<typeof INPUT>, 'artifacts'> & {
  readonly artifacts: readonly PolicyArtifact[];
};

/**
 * A text is quicker to hand to a thread than objects; this many characters, some 20,000 packages, are printed
 * in about 10 ms.
 */
export const INPUT_CHARS_MAX = 2_097_152;

const EMPTY: Readonly<Record<Scalar, boolean | number | string>> = {
  bool: false,
  int: 0,
  double: 0,
  string: '',
  timestamp: '',
};

export const emptyInput = (): PolicyInput => emptyOf(INPUT) as PolicyInput;
export const emptyArtifact = (): PolicyArtifact => emptyOf(ARTIFACT) as PolicyArtifact;

export function emptyOf(shape: Shape): unknown {
  if (typeof shape === 'string') return EMPTY[shape];
  if ('list' in shape) return [];
  return Object.fromEntries(Object.entries(shape.fields).map(([name, of]) => [name, emptyOf(of)]));
}

/** Prints the input for the thread, or says which of its bounds it exceeds. */
export function printInput(input: PolicyInput): { readonly text: string } | { readonly problem: string } {
  const problem = tooLong(INPUT, input, 'input');
  if (problem !== undefined) return { problem };
  const text = JSON.stringify(input);
  if (text.length <= INPUT_CHARS_MAX) return { text };
  return { problem: `the input has ${text.length} characters: ${INPUT_CHARS_MAX} are the limit` };
}

/**
 * Goes as deep as the shape, which is ours; no list is walked before its length is known to be within bounds.
 */
function tooLong(shape: Shape, value: unknown, path: string): string | undefined {
  if (typeof shape === 'string' || typeof value !== 'object' || value === null) return undefined;
  if ('list' in shape) {
    if (!Array.isArray(value)) return undefined;
    if (value.length > shape.max) return `${path} has ${value.length} elements: ${shape.max} are the limit`;
    if (typeof shape.list === 'string') return undefined;
    for (const [index, element] of value.entries()) {
      const problem = tooLong(shape.list, element, `${path}[${index}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  for (const [name, of] of Object.entries(shape.fields)) {
    if (typeof of === 'string') continue;
    const problem = tooLong(of, (value as Record<string, unknown>)[name], `${path}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
