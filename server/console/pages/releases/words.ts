/** Says what the page tells about promotions and artifacts, in plain words. */
import type {
  ArtifactOrigin,
  Attestation,
  Environment,
  LineageKind,
  LineageNode,
  ArtifactsLineageResponse,
  Promotion,
  Release,
  RunningHow,
  RunningImage,
  SbomDifference,
  VerificationStatus,
} from '@svc/sdk';
import type { StateWord } from '../../fact.tsx';

/** An environment with its promotions, newest first. */
export interface Column {
  readonly environment: Environment;
  readonly promotions: readonly Promotion[];
  /** True where these are all that there are. */
  readonly isWhole: boolean;
  /** It is undefined where nothing is known to run. */
  readonly running: RunningImage | undefined;
}

/** Behind when it was: `promoted, 3 minutes ago`. */
export const HOW: Readonly<Record<RunningHow, string>> = {
  promotion: 'promoted',
  approved: 'deployed with an approval',
  direct: 'deployed directly',
  rollback: 'rolled back',
  elsewhere: 'deployed elsewhere',
};

/**
 * Returns what is said of a promotion. `isNewest` says that nothing is known to have been deployed there
 * since it was approved.
 */
export function standing(promotion: Promotion, isNewest: boolean): StateWord {
  switch (promotion.state) {
    case 'pending':
      return ['Pending', 'warn'];
    case 'approved':
      return ['Approved', promotion.buildId === undefined ? 'warn' : 'busy'];
    case 'deployed':
      return isNewest ? ['Deployed', 'good'] : ['Deployed before', 'quiet'];
    case 'failed':
      return ['Failed', 'bad'];
    case 'rejected':
      if (promotion.rejection === 'superseded') return ['Superseded', 'quiet'];
      return promotion.rejection === 'expired' ? ['Expired', 'quiet'] : ['Rejected', 'bad'];
  }
}

export const sinceOf = ({ createdAt, approvedAt, endedAt }: Promotion): string =>
  endedAt ?? approvedAt ?? createdAt;

/**
 * What a promotion has deployed is told a moment before it is told to run; until then it is newer than what
 * runs.
 */
export function isNewest({ running }: Column, { approvedAt }: Promotion): boolean {
  const since = running?.image.since;
  return since === undefined || (approvedAt !== undefined && Date.parse(approvedAt) > Date.parse(since));
}

export interface Cell {
  /** Running image, if it is of the release. */
  readonly runs: RunningImage | undefined;
  /** The newest promotion of the release, unless what runs says more. */
  readonly promotion: Promotion | 'unread' | undefined;
}

export function cellOf(column: Column, { id, createdAt }: Release): Cell {
  const { promotions, running, isWhole } = column;
  const runs = running?.image.releaseId === id ? running : undefined;
  const newest = promotions.find(({ releaseId }) => releaseId === id);
  const oldest = promotions.at(-1);
  if (runs !== undefined && (newest === undefined || newest.state === 'deployed')) {
    const isTold = newest === undefined || !isNewest(column, newest);
    return { runs, promotion: isTold ? undefined : newest };
  }
  // A promotion is never older than its release.
  const isUnread =
    newest === undefined &&
    !isWhole &&
    oldest !== undefined &&
    Date.parse(createdAt) <= Date.parse(oldest.createdAt);
  return { runs, promotion: isUnread ? 'unread' : newest };
}

/** What runs there and is of none of these releases. */
export function unlisted({ running }: Column, releases: readonly Release[]): RunningImage | undefined {
  return releases.some(({ id }) => id === running?.image.releaseId) ? undefined : running;
}

/** Returns those that wait for people, for a runner, or for whoever deploys them, newest first. */
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

/** They approve and reject where this is true. */
export const decides = ({ role }: Person): boolean =>
  role === undefined || role === 'admin' || role === 'owner';

/** Why a person cannot approve; undefined: they can. */
export function whyNot(
  { approvals, requestedBy }: Promotion,
  { allowSelfApproval }: Environment,
  person: Person,
): string | undefined {
  if (!decides(person)) return 'An admin of the team approves it.';
  if (approvals.some(({ userId, voidReason }) => userId === person.userId && voidReason === undefined))
    return 'You have approved it.';
  return !allowSelfApproval && requestedBy === person.userId
    ? 'You asked for it: somebody else has to approve it.'
    : undefined;
}

/** Returns a digest that is cut to `sha256:` and twelve digits. */
export const shortDigest = (digest: string): string => digest.slice(0, 19);

export const ORIGIN: Readonly<Record<ArtifactOrigin, string>> = {
  build: 'Published by a build',
  ci_run: 'Reported by a CI run',
  declared: 'Declared',
};

export const STATUS: Readonly<Record<VerificationStatus, StateWord>> = {
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

/**
 * Returns whether people may remove it. What the service states by itself stays. What it recorded of an
 * evaluation is the word of a member.
 */
export const isRemovable = ({ predicateType, verification }: Attestation): boolean =>
  verification.keyId?.startsWith('sgk_') !== true || predicateType.endsWith('/evaluation/v1');

/** Against what the runner listed. */
export function differenceOf({ added, lacking, otherwise }: SbomDifference): string {
  if (added + lacking + otherwise === 0) return 'It says what the runner listed.';
  return `Against the runner’s list it adds ${added}, lacks ${lacking}, and says otherwise of ${otherwise}.`;
}

export function provenanceOf(statements: readonly Attestation[]): StateWord {
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

const STATES: Readonly<Record<string, StateWord>> = {
  pending: ['Pending', 'warn'],
  approved: ['Approved', 'busy'],
  deployed: ['Deployed', 'good'],
  rejected: ['Rejected', 'bad'],
  failed: ['Failed', 'bad'],
};

/** Undefined for all but promotions. */
export function promotionState({ kind, state }: LineageNode): StateWord | undefined {
  return kind === 'promotion' && state !== undefined ? (STATES[state] ?? [state, 'quiet']) : undefined;
}

/**
 * Returns a name that is on one line, whatever stands in it: nothing in it is unseen or turns the direction,
 * and it ends after `max`.
 */
export function plain(text: string, max: number): string {
  const characters = [...text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')];
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : characters.join('');
}

/** Returns what a node of a lineage came of, such as `Build web, Build api`. */
export function cameOf(node: LineageNode, { nodes, edges }: ArtifactsLineageResponse): string {
  const from = new Set(edges.filter(({ to }) => to === node.id).map((edge) => edge.from));
  return nodes
    .filter(({ id }) => from.has(id))
    .map(({ kind, name }) => `${KIND[kind]} ${name}`.trim())
    .join(', ');
}
