/** Makes statements of our own: in-toto v1 in canonical JSON, serialised once and then kept as bytes. */
import canonicalize from 'canonicalize';

export const PROVENANCE_TYPE = 'https://slsa.dev/provenance/v1';
/** Behind ATTESTATION_TYPE_BASE. */
export const EVALUATION_SUFFIX = '/evaluation/v1';
export const isEvaluation = (predicateType: string): boolean => predicateType.endsWith(EVALUATION_SUFFIX);

export interface Subject {
  readonly name: string;
  /** `sha256:<hex>` */
  readonly digest: string;
}

export interface StatementInit {
  readonly subjects: readonly Subject[];
  readonly predicateType: string;
  /** JSON values only. */
  readonly predicate: Readonly<Record<string, unknown>>;
}

export function statementBytes({ subjects, predicateType, predicate }: StatementInit): Buffer {
  const text = canonicalize({
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, digest }) => ({
      name,
      digest: { sha256: digest.replace('sha256:', '') },
    })),
    predicateType,
    predicate,
  });
  if (text === undefined) throw new Error('a statement has no JSON form');
  return Buffer.from(text, 'utf8');
}
