/** Describes for the ledger what a delivery changed. */
import type { FactName, RunReport } from '../providers/index.ts';
import type { Settled, Step } from '../runs/index.ts';

/** Facts as the contract names them. Absent: they are shown nowhere. */
const FIELDS: Readonly<Partial<Record<FactName, string>>> = {
  actor: 'actor',
  branch: 'branch',
  commitSha: 'commitSha',
  durationMs: 'durationMs',
  environmentId: 'environmentId',
  event: 'trigger',
  finishedAt: 'finishedAt',
  name: 'pipelineName',
  queuedAt: 'queuedAt',
  startedAt: 'startedAt',
  tag: 'tag',
  url: 'externalUrl',
};

/**
 * Says why nothing of an event was taken. One that only comes late is no contradiction: it is read, and
 * changes what it can.
 */
export function whyNotTaken({ status }: RunReport['event'], { kind, after }: Step): string | undefined {
  return kind === 'over'
    ? `it says ${status ?? 'nothing'}, the run ended as ${after.status} and does not change`
    : undefined;
}

export function changeOf({ kind, before, after }: Step, jobs: number): string {
  const ofJobs = jobs === 0 ? [] : [`${jobs} ${jobs === 1 ? 'job' : 'jobs'}`];
  const parts = [...(kind === 'accepted' ? ofRun(before, after) : []), ...ofJobs];
  if (parts.length > 0) return parts.join('; ');
  return kind === 'older' ? 'nothing: later news was known' : 'nothing: it was known';
}

function ofRun(before: Settled | undefined, after: Settled): readonly string[] {
  if (before === undefined) return [`run made, ${shown(after)}`];
  const fields = (Object.keys(FIELDS) as FactName[]).flatMap((name) =>
    before.facts[name] === after.facts[name] ? [] : (FIELDS[name] ?? []),
  );
  const settled = (['providerStatus', 'providerConclusion', 'soft', 'reason'] as const).filter(
    (name) => before[name] !== after[name],
  );
  const [from, to] = [shown(before), shown(after)];
  const named = [...settled, ...fields].join(', ');
  return [...(from === to ? [] : [`${from} → ${to}`]), ...(named === '' ? [] : [named])];
}

const shown = ({ status, blocked }: Settled): string => (blocked ? `${status} (blocked)` : status);
