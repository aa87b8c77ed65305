/**
 * The policy of a connection for id_tokens, beside the repository: anchored literals and globs, never a
 * pattern language that can run long.
 */
import type { CiJob } from '../../kit/context.ts';
import type { OidcPolicy } from '../connections/index.ts';
import { definitionFile } from '../runs/index.ts';
import { claimsOf } from './claims.ts';
import { refused } from './refusals.ts';

export function checkPolicy(job: CiJob, policy: OidcPolicy | null): void {
  if (policy === null) return;
  const { refs, files, environments } = policy;
  const ref = job.provider === 'github' ? 'ref' : 'ref_path';
  const file = job.provider === 'github' ? 'workflow_ref' : 'ci_config_ref_uri';
  const of = (claim: string): string | undefined => job.claims[claim];
  const demand = (claim: string, allowed: readonly string[], fits: (one: string) => boolean): void => {
    if (allowed.length > 0 && !allowed.some(fits)) throw notAllowed(job, claim, allowed);
  };
  demand(ref, refs, (wanted) => globMatches(wanted, of(ref) ?? ''));
  demand(file, files, (wanted) => wanted === definitionFile(job));
  demand('environment', environments, (wanted) => wanted === of('environment'));
}

function notAllowed(job: CiJob, claim: string, allowed: readonly string[]): Error {
  const value = job.claims[claim];
  const what = value === undefined ? `the claim ${claim} is absent` : `the claim ${claim} is "${value}"`;
  return refused(`${what}, the connection's policy allows ${allowed.join(', ')}`, {
    claim,
    claims: claimsOf(job),
  });
}

/**
 * `*` is anything but a slash, `**` anything, both also nothing. The whole text must fit. Takes time in
 * proportion to both lengths.
 */
export function globMatches(glob: string, text: string): boolean {
  /** Places of the text that the part of the glob that was read can end at. */
  let ends = new Set([0]);
  for (const [piece] of glob.matchAll(/\*\*|\*|[^*]+/g)) {
    ends = piece.startsWith('*') ? stretched(ends, text, piece === '**') : literal(ends, text, piece);
    if (ends.size === 0) return false;
  }
  return ends.has(text.length);
}

function literal(ends: ReadonlySet<number>, text: string, piece: string): Set<number> {
  return new Set([...ends].filter((at) => text.startsWith(piece, at)).map((at) => at + piece.length));
}

function stretched(ends: ReadonlySet<number>, text: string, overSlashes: boolean): Set<number> {
  const reached = new Set<number>();
  let isOpen = false;
  for (let at = 0; at <= text.length; at += 1) {
    if (!overSlashes && text[at - 1] === '/') isOpen = false;
    isOpen ||= ends.has(at);
    if (isOpen) reached.add(at);
  }
  return reached;
}
