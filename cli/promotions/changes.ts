/**
 * The lines for people that describe a promotion: what runs, what it brings, what differs, and what the
 * policies say.
 */
import type {
  Promotion,
  PromotionArtifactChange,
  PromotionImage,
  PromotionPackageChange,
  PromotionPackageChanges,
  PromotionPreview,
} from '@svc/sdk';
import { describePreview } from './command.ts';

/** Packages that are named; artifacts likewise. */
const LINES_MAX = 20;
/** Versions of a package that are named. */
const VERSIONS_MAX = 3;
/** Parts of what is approved that say where it goes. */
const TARGET = /^(deploy\.|runner\.|region$)/;

export function describeChanges(preview: PromotionPreview): readonly string[] {
  const { promotion, running, brought, artifacts, packages, packagesProblem, policies } = preview;
  const { id, environmentName } = promotion;
  return [
    `${environmentName} runs ${running === undefined ? 'nothing that is known' : describeImage(running)}`,
    `${id} brings ${describeImage(brought)}`,
    ...describeArtifacts(artifacts),
    ...(packages === undefined
      ? [`packages are not compared: ${packagesProblem ?? 'the server does not say why'}`]
      : describePackages(packages)),
    ...describeTarget(preview),
    `approvals: ${preview.approvals} of ${preview.requiredApprovals}`,
    ...describeVoid(promotion),
    ...(policies === undefined ? [] : describePreview(policies)),
  ];
}

/** Prints the target of the deploy, or nothing where nothing is deployed. */
function describeTarget({ subject = [] }: Partial<PromotionPreview>): readonly string[] {
  const parts = subject.filter(({ name }) => TARGET.test(name)).map(({ name, value }) => `${name} ${value}`);
  return parts.length === 0 ? [] : [`target: ${parts.join(', ')}`];
}

/** A line for each approval that does not count. */
function describeVoid({ approvals }: Pick<Promotion, 'approvals'>): readonly string[] {
  return approvals.flatMap(({ userId, voidReason }) =>
    voidReason === undefined ? [] : [`the approval of ${userId} counts no longer: ${voidReason}`],
  );
}

/** `1.4.0, commit 3f2a9c1d5e7b, since 2026-11-19T08:00:00.000Z` */
const describeImage = ({ version, digest, commit, since }: PromotionImage): string =>
  [
    version ?? digest ?? 'no release',
    ...(commit === undefined ? [] : [`commit ${commit.slice(0, 12)}`]),
    ...(since === undefined ? [] : [`since ${since}`]),
  ].join(', ');

function describeArtifacts(changes: readonly PromotionArtifactChange[]): readonly string[] {
  const counts = {
    added: changes.filter(({ before }) => before === undefined).length,
    removed: changes.filter(({ after }) => after === undefined).length,
  };
  const changed = changes.length - counts.added - counts.removed;
  return listed('artifacts', {
    counts: { ...counts, changed },
    lines: changes.map(({ kind, name, before, after }) => line(`${name} (${kind})`, before, after)),
  });
}

function describePackages({ changes, ...counts }: PromotionPackageChanges): readonly string[] {
  const lines = changes.map(({ type, name, before, after }: PromotionPackageChange) =>
    line(`${name} (${type})`, versions(before), versions(after)),
  );
  return listed('packages', { counts, lines });
}

interface Listed {
  readonly counts: Omit<PromotionPackageChanges, 'changes'>;
  /** The first ones of what is counted. */
  readonly lines: readonly string[];
}

function listed(what: string, { counts: { added, removed, changed }, lines }: Listed): readonly string[] {
  const shown = lines.slice(0, LINES_MAX);
  const more = added + removed + changed - shown.length;
  return [
    `${what}: ${added} added, ${removed} removed, ${changed} changed`,
    ...shown,
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

function line(what: string, before: string | undefined, after: string | undefined): string {
  if (before === undefined) return `+ ${what} ${after}`;
  return after === undefined ? `- ${what} ${before}` : `~ ${what} ${before} → ${after}`;
}

function versions(all: readonly string[]): string | undefined {
  if (all.length === 0) return undefined;
  const shown = all
    .slice(0, VERSIONS_MAX)
    .map((version) => (version === '' ? 'of no known version' : version));
  return `${shown.join(', ')}${all.length > shown.length ? ', …' : ''}`;
}
