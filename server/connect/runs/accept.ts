/**
 * Here the state of a run or a job is computed, after all events about it. Providers deliver late, twice, and
 * out of order, so the state is a join: each thing that is known carries the key of the event that brought
 * it, and the greater key stays. A join does not care for order or repetition, so every permutation of the
 * same events, with duplicates, ends in the same run.
 *
 * Statuses of two kinds are kept apart, because they cannot be compared with each other: those that the
 * provider ordered (`order`, a version or a time) and those without an order (direct reports, providers
 * without a key). `settle` decides at the end between the two. Of ordered ones the later status stands, so a
 * run may be opened again; of the others the higher rank, so it moves only forward. A run that ended is over
 * (`acceptOfRun`).
 *
 * Nothing here reads a clock or a database.
 */
import type { CiEvent, CiStatus, FactName, Facts } from '../providers/index.ts';

interface ReportedStatus {
  readonly status: CiStatus;
  readonly providerStatus: string | null;
  readonly providerConclusion: string | null;
  readonly blocked: boolean;
  readonly soft: boolean;
  readonly reason: string | null;
}

/** A value with the key of the event that brought it. */
type Keyed<T> = readonly [key: string, value: T];

/** The state as it is stored. */
export interface CiState {
  readonly ordered?: Keyed<ReportedStatus>;
  readonly plain?: Keyed<ReportedStatus>;
  /** Order of the latest end that the provider reported, whatever it reported after that. */
  readonly ended?: string;
  readonly facts: { readonly [name in FactName]?: Keyed<string | number> };
}

/** The state before any event. */
export const NO_EVENTS: CiState = { facts: {} };

export type Outcome =
  | { readonly kind: 'accepted'; readonly state: CiState }
  | { readonly kind: 'ignored'; readonly reason: 'duplicate' | 'older' };
/** `over`: the run ended otherwise. */
export type RunOutcome = Outcome | { readonly kind: 'ignored'; readonly reason: 'over' };

/**
 * Ranks the statuses without order: of two the higher one stands. Among the ends a failure outranks a
 * cancellation and that a success, so that two reports that contradict each other never come to a success by
 * chance; `unknown` gives way to every other end.
 */
const RANK: Readonly<Record<CiStatus, number>> = {
  queued: 1,
  running: 2,
  unknown: 3,
  success: 4,
  cancelled: 5,
  failed: 6,
};

export function isTerminal(status: CiStatus): boolean {
  return RANK[status] > RANK.running;
}

/** Tells an end that somebody reported from `unknown`, which gives way to any other. */
export function isReportedEnd(status: CiStatus): boolean {
  return isTerminal(status) && status !== 'unknown';
}

export function accept(state: CiState, event: CiEvent): Outcome {
  const key = keyOf(event);
  const reported = reportedStatus(event);
  const slot = isProviders(key) ? 'ordered' : 'plain';
  const { facts, ...statuses } = state;
  const joined: CiState = {
    facts: joinFacts(facts, event, key),
    ...statuses,
    ...(reported === undefined ? {} : { [slot]: greater(state[slot], [key, reported]) }),
    ...endedOf(
      state.ended,
      slot === 'ordered' && reported !== undefined && isReportedEnd(reported.status)
        ? orderOfKey(key)
        : undefined,
    ),
  };
  if (!sameState(state, joined)) return { kind: 'accepted', state: joined };
  const known = state[slot];
  const isOlder = reported !== undefined && known !== undefined && key < known[0];
  return { kind: 'ignored', reason: isOlder ? 'older' : 'duplicate' };
}

/**
 * Accepts an event about a run, which does not change once it ended, whoever reports otherwise. Only a
 * provider that runs it again under the same name may change it, by an event that is later than its own last
 * end.
 */
export function acceptOfRun(state: CiState, event: CiEvent): RunOutcome {
  const was = settle(state).status;
  if (!isReportedEnd(was)) return accept(state, event);
  const at = placeAtEnd(state, event);
  const isOtherEnd = event.status !== undefined && isReportedEnd(event.status) && event.status !== was;
  if (isOtherEnd && at === 'of it') return { kind: 'ignored', reason: 'over' };
  const outcome = accept(state, event);
  if (outcome.kind === 'ignored' || at === 'after' || settle(outcome.state).status === was) return outcome;
  return { kind: 'ignored', reason: 'over' };
}

/** Returns whether the event comes before or after the provider's last end, or is about the same attempt. */
function placeAtEnd(state: CiState, event: CiEvent): 'before' | 'of it' | 'after' {
  const key = keyOf(event);
  const { ordered } = state;
  // A state that was stored before `ended` was has the last end as its ordered status.
  const ended =
    state.ended ??
    (ordered !== undefined && isReportedEnd(ordered[1].status) ? orderOfKey(ordered[0]) : undefined);
  if (event.final === true || !isProviders(key) || ended === undefined) return 'of it';
  const order = orderOfKey(key);
  return order === ended ? 'of it' : order > ended ? 'after' : 'before';
}

/** Joins the states of two rows that turn out to be the same run. */
export function join(a: CiState, b: CiState): CiState {
  const facts: { [name in FactName]?: Keyed<string | number> } = { ...a.facts };
  for (const [name, fact] of entries(b.facts)) facts[name] = greater(facts[name], fact);
  const ordered = b.ordered === undefined ? a.ordered : greater(a.ordered, b.ordered);
  const plain = b.plain === undefined ? a.plain : greater(a.plain, b.plain);
  return { facts, ...(ordered && { ordered }), ...(plain && { plain }), ...endedOf(a.ended, b.ended) };
}

/** Keeps the later one. */
function endedOf(a: string | undefined, b: string | undefined): Pick<CiState, 'ended'> {
  const ended = a === undefined || (b !== undefined && b > a) ? b : a;
  return ended === undefined ? {} : { ended };
}

export interface Settled extends ReportedStatus {
  readonly facts: { readonly [name in FactName]?: string | number };
}

/** Decides between the reported statuses, and gives the facts without their keys. */
export function settle(state: CiState): Settled {
  const facts: { [name in FactName]?: string | number } = {};
  for (const [name, [, value]] of entries(state.facts)) facts[name] = value;
  if (facts.commitSha === undefined && facts.builtSha !== undefined) facts.commitSha = facts.builtSha;
  const status = decide(state.ordered?.[1], state.plain?.[1]);
  // The time is that of a run that was opened again, or came too early.
  if (!isTerminal(status.status)) delete facts.finishedAt;
  return { facts, ...status };
}

const NO_STATUS: ReportedStatus = {
  status: 'queued',
  providerStatus: null,
  providerConclusion: null,
  blocked: false,
  soft: false,
  reason: null,
};

/**
 * Decides between the provider's status and the job's own: an end outweighs an open status, and of two ends
 * the provider's stands, unless it is `unknown`. While the provider waits for a person the run does, whatever
 * a job of it reported before.
 */
function decide(ordered: ReportedStatus | undefined, plain: ReportedStatus | undefined): ReportedStatus {
  if (ordered === undefined || plain === undefined) return ordered ?? plain ?? NO_STATUS;
  const ends = [isTerminal(ordered.status), isTerminal(plain.status)];
  if (ends[0] === true && ends[1] === true) return ordered.status === 'unknown' ? plain : ordered;
  if (ordered.blocked && ends[1] === false) return ordered;
  return RANK[plain.status] > RANK[ordered.status] ? plain : ordered;
}

/** Returns whether the key is of the provider's facts and not of a job's. */
export function isProviders(key: string): boolean {
  return key >= ORDERED;
}

const ORDERED = 'o';
/** Begins the key of an end that is for good: no open status comes after it, whatever its time is. */
const FINAL = 'p';
const PLAIN = 'a'; // Less than ORDERED: the provider's facts outweigh those of a job.

/**
 * Makes the key of an event. Keys are compared as text. Whole numbers of one provider get one width; an order
 * that is no number sorts behind all that are.
 */
function keyOf({ order, final, status = 'queued' }: CiEvent): string {
  const rank = RANK[status];
  if (order === undefined || order === null || order === '') return `${PLAIN}${rank}`;
  const text = String(order);
  const [, whole, decimals = ''] = /^(\d{1,30})(\.\d+)?$/.exec(text) ?? [];
  const begin = final === true && isReportedEnd(status) ? FINAL : ORDERED;
  return `${begin}${whole === undefined ? `~${text}` : whole.padStart(30, '0') + decimals} ${rank}`;
}

/** Takes the key without the rank. */
const orderOfKey = (key: string): string => key.slice(0, key.lastIndexOf(' '));

function reportedStatus(event: CiEvent): ReportedStatus | undefined {
  const { status } = event;
  if (status === undefined) return undefined;
  return {
    status,
    providerStatus: event.providerStatus ?? null,
    providerConclusion: event.providerConclusion ?? null,
    blocked: event.blocked ?? false,
    soft: event.soft ?? false,
    reason: event.reason ?? null,
  };
}

function joinFacts(
  known: CiState['facts'],
  { facts: reported, corrects }: CiEvent,
  key: string,
): CiState['facts'] {
  const facts: { [name in FactName]?: Keyed<string | number> } = { ...known };
  for (const [name, value] of Object.entries(reported) as Array<[FactName, Facts[FactName]]>) {
    if (value === undefined || value === null || value === '') continue;
    const was = facts[name];
    facts[name] =
      corrects === true
        ? [was !== undefined && was[0] > key ? was[0] : key, value]
        : greater(was, [key, value]);
  }
  return facts;
}

/**
 * Chooses the value with the greater key. Of two with the same key one is chosen by its text: which one
 * matters less than that it is always the same.
 */
function greater<T>(known: Keyed<T> | undefined, other: Keyed<T>): Keyed<T> {
  if (known === undefined) return other;
  if (known[0] !== other[0]) return known[0] > other[0] ? known : other;
  return canonical(known[1]) >= canonical(other[1]) ? known : other;
}

/** The database does not keep the order of an object's keys. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function sameState(a: CiState, b: CiState): boolean {
  const same = (x: Keyed<unknown> | undefined, y: Keyed<unknown> | undefined): boolean =>
    x === y || (x !== undefined && y !== undefined && x[0] === y[0] && canonical(x[1]) === canonical(y[1]));
  const names = new Set([...Object.keys(a.facts), ...Object.keys(b.facts)] as FactName[]);
  return (
    same(a.ordered, b.ordered) &&
    same(a.plain, b.plain) &&
    [...names].every((name) => same(a.facts[name], b.facts[name]))
  );
}

function entries(facts: CiState['facts']): Array<[FactName, Keyed<string | number>]> {
  return Object.entries(facts) as Array<[FactName, Keyed<string | number>]>;
}
