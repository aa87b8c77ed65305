/** What the page says about promotions and artifacts, in plain words. */
import type {
  ArtifactOrigin,
  Attestation,
  Environment,
  LineageKind,
  LineageNode,
  ArtifactsLineageResponse,
  Promotion,
  Release,
  VerificationStatus,
} from '@svc/sdk';

export type Tone = 'good' | 'quiet' | 'warn' | 'bad' | 'busy';
type Said = readonly [word: string, tone: Tone];

/** An environment with its promotions, newest first. */
export interface Column {
  readonly environment: Environment;
  readonly promotions: readonly Promotion[];
  /** Whether these are all that there are. */
  readonly isWhole: boolean;
}

/** `isCurrent`: nothing was promoted there behind it. */
export function standing(promotion: Promotion, isCurrent: boolean): Said {
  switch (promotion.state) {
    case 'pending':
      return ['Pending', 'warn'];
    case 'approved':
      return ['Approved', promotion.buildId === undefined ? 'warn' : 'busy'];
    case 'deployed':
      return isCurrent ? ['Deployed', 'good'] : ['Deployed before', 'quiet'];
    case 'failed':
      return ['Failed', 'bad'];
    case 'rejected':
      if (promotion.rejection === 'superseded') return ['Superseded', 'quiet'];
      return promotion.rejection === 'expired' ? ['Expired', 'quiet'] : ['Rejected', 'bad'];
  }
}

export const sinceOf = ({ createdAt, approvedAt, endedAt }: Promotion): string =>
  endedAt ?? approvedAt ?? createdAt;

/** The one whose deploy ended last. */
export function currentOf({ promotions }: Column): Promotion | undefined {
  return promotions
    .filter(({ state }) => state === 'deployed')
    .toSorted((a, b) => Date.parse(sinceOf(b)) - Date.parse(sinceOf(a)))[0];
}

/** The newest promotion of a release there, and before it the one that is deployed now, if that is another. */
export function cellOf(column: Column, { id, createdAt }: Release): readonly Promotion[] | 'unread' {
  const current = currentOf(column);
  const newest = column.promotions.find(({ releaseId }) => releaseId === id);
  const oldest = column.promotions.at(-1);
  // A promotion is never older than its release.
  if (newest === undefined && !column.isWhole && oldest !== undefined)
    return Date.parse(createdAt) <= Date.parse(oldest.createdAt) ? 'unread' : [];
  if (newest === undefined) return [];
  return current === undefined || current.releaseId !== id || current === newest
    ? [newest]
    : [current, newest];
}

/** Those that wait for people, for a runner, or for whoever deploys them; newest first. */
export function waitingIn(columns: readonly Column[]): { promotion: Promotion; environment: Environment }[] {
  return columns
    .flatMap(({ promotions, environment }) =>
      promotions
        .filter(({ state }) => state === 'pending' || state === 'approved')
        .map((promotion) => ({ promotion, environment })),
    )
    .toSorted((a, b) => Date.parse(b.promotion.createdAt) - Date.parse(a.promotion.createdAt));
}

export interface Person {
  readonly userId: string;
  /** Absent for staff who look on. */
  readonly role: string | undefined;
}

/** Whether they approve and reject. */
export const decides = ({ role }: Person): boolean =>
  role === undefined || role === 'admin' || role === 'owner';

/** Why a person cannot approve; undefined: they can. */
export function whyNot(
  { approvals, requestedBy }: Promotion,
  { allowSelfApproval }: Environment,
  person: Person,
): string | undefined {
  if (!decides(person)) return 'An admin of the team approves it.';
  if (approvals.some(({ userId }) => userId === person.userId)) return 'You have approved it.';
  return !allowSelfApproval && requestedBy === person.userId
    ? 'You asked for it: somebody else has to approve it.'
    : undefined;
}

/** `sha256:` and twelve digits. */
export const shortDigest = (digest: string): string => digest.slice(0, 19);

export const ORIGIN: Readonly<Record<ArtifactOrigin, string>> = {
  build: 'Published by a build',
  ci_run: 'Reported by a CI run',
  declared: 'Declared',
};

export const STATUS: Readonly<Record<VerificationStatus, Said>> = {
  valid: ['Verified', 'good'],
  unverified: ['Unverified', 'warn'],
  invalid: ['Invalid', 'bad'],
  key_revoked: ['Key revoked', 'bad'],
};

const PROVENANCE = /^https:\/\/slsa\.dev\/provenance\//;

/** `Provenance`, or the last part of its type that is no version: `Residency`. */
export function statementName({ predicateType }: Pick<Attestation, 'predicateType'>): string {
  if (PROVENANCE.test(predicateType)) return 'Provenance';
  const name = predicateType.split('/').findLast((part) => !/^v?[\d.]*$/.test(part)) ?? predicateType;
  return `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('-', ' ')}`;
}

export function provenanceOf(statements: readonly Attestation[]): Said {
  const all = statements.filter(({ predicateType }) => PROVENANCE.test(predicateType));
  const best = all.find(({ verification }) => verification.status === 'valid') ?? all[0];
  return best === undefined ? ['None', 'quiet'] : STATUS[best.verification.status];
}

export const KIND: Readonly<Record<LineageKind, string>> = {
  commit: 'Commit',
  build: 'Build',
  ci_run: 'CI run',
  artifact: 'Artifact',
  release: 'Release',
  promotion: 'Promotion',
  deployment: 'Deployment',
};

const STATES: Readonly<Record<string, Said>> = {
  pending: ['Pending', 'warn'],
  approved: ['Approved', 'busy'],
  deployed: ['Deployed', 'good'],
  rejected: ['Rejected', 'bad'],
  failed: ['Failed', 'bad'],
};

/** Undefined for all but promotions. */
export function promotionState({ kind, state }: LineageNode): Said | undefined {
  return kind === 'promotion' && state !== undefined ? (STATES[state] ?? [state, 'quiet']) : undefined;
}

/** A name on one line, whatever stands in it: nothing that is unseen or turns the direction, and not without end. */
export function plain(text: string, max: number): string {
  const characters = [...text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')];
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : characters.join('');
}

/** What a node of a lineage came of: `Build web, Build api`. */
export function cameOf(node: LineageNode, { nodes, edges }: ArtifactsLineageResponse): string {
  const from = new Set(edges.filter(({ to }) => to === node.id).map((edge) => edge.from));
  return nodes
    .filter(({ id }) => from.has(id))
    .map(({ kind, name }) => `${KIND[kind]} ${name}`.trim())
    .join(', ');
}
