/** Amounts, months and parts as people say them. */
import {
  majorText,
  type BillingStanding,
  type Budget,
  type CostPart,
  type CostSummary,
  type CreditKind,
  type ReceiptLine,
  type StatementState,
} from '@svc/sdk';

export interface Currency {
  readonly currency: string;
  readonly decimals: number;
}

/**
 * Returns a decimal text as words with all decimals of the currency, and below one unit with more where they
 * say something.
 */
export function amount(text: string, { currency, decimals }: Currency): string {
  const size = Math.abs(Number(text));
  const telling = size > 0 && size < 1 ? 1 - Math.floor(Math.log10(size)) : 0;
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: decimals,
    maximumFractionDigits: Math.max(decimals, telling),
  }).format(text as `${number}`);
}

/**
 * Returns words that say minor units. `decimals` are those of the currency, which Intl takes for fewer now
 * and then.
 */
export function ofCents(cents: number | bigint, of: Currency): string {
  return amount(majorText(cents, of.decimals), of);
}

/**
 * The net of a time as its statement has it, which is rounded line by line. Less than one unit is shown
 * exactly.
 */
export function netWords(of: Pick<CostSummary, 'net' | 'netCents'> & Currency): string {
  return Number(of.net) < 1 ? amount(of.net, of) : ofCents(of.netCents, of);
}

const PLACES = 12;

/** Returns an amount of up to twelve places in whole trillionths. */
function trillionths(text: string): bigint {
  const [whole = '', part = ''] = text.split('.');
  return BigInt(`${whole}${part.padEnd(PLACES, '0')}`);
}

/** Returns the sum of exact amounts, which is exact. */
export const sumOf = (texts: readonly string[]): string =>
  majorText(
    texts.reduce((sum, text) => sum + trillionths(text), 0n),
    PLACES,
  );

/** Returns what milliseconds cost at a price of a second in billionths: to the last place, as receipts do. */
export const costOf = ({
  meteredMs,
  nanosPerSecond,
}: Pick<ReceiptLine, 'meteredMs' | 'nanosPerSecond'>): string =>
  majorText(BigInt(meteredMs) * BigInt(nanosPerSecond), PLACES);

/** `12 h`, `40 min`, `3 s` of metered time. */
export function time(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return `${(Math.round(seconds / 360) / 10).toLocaleString('en')} h`;
}

/** Returns the month that `2026-11` or one of its days is in, as `November 2026`. */
export function month(text: string): string {
  return named(text.slice(0, 7), { month: 'long', year: 'numeric' });
}

/** Returns the day as it is written in `Thursday, 26 November`. */
export function day(text: string): string {
  return named(text, { weekday: 'long', day: 'numeric', month: 'long' });
}

/** Returns the day as `26 Nov` is written. */
export function shortDay(text: string): string {
  return named(text, { day: 'numeric', month: 'short' });
}

function named(text: string, parts: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone: 'UTC' }).format(
    new Date(`${text.length === 7 ? `${text}-01` : text}T00:00:00Z`),
  );
}

/** Returns the name that a part has. `none` is the name of work that belongs to no such part. */
export function partName(
  { id, name, others }: Pick<CostPart, 'id' | 'name' | 'others'>,
  none: string,
): string {
  if (others !== undefined) return `${others.toLocaleString('en')} others`;
  return name ?? id ?? none;
}

export type Names = ReadonlyMap<string, string>;

/** Returns the names of parts by their ids. */
export const namesOf = (parts: ReadonlyArray<Pick<CostPart, 'id' | 'name'>>): Names =>
  new Map(parts.flatMap(({ id, name }) => (id === undefined || name === undefined ? [] : [[id, name]])));

export function scopeName({ projectId, environmentId }: Budget, names: Names): string {
  const id = environmentId ?? projectId;
  if (id === undefined) return 'The whole team';
  return `${environmentId === undefined ? 'Project' : 'Environment'} ${names.get(id) ?? id}`;
}

const CREDIT_WORDS: Readonly<Record<CreditKind, string>> = {
  purchase: 'Bought',
  grant: 'Granted',
  usage: 'Paid a statement',
  refund: 'Refunded',
  expiry: 'Expired',
  dispute: 'Held back: payment disputed',
  dispute_won: 'Given back: dispute won',
  dispute_lost: 'Dispute lost',
  usage_returned: 'Given back: statement voided',
  grant_revoked: 'Grant taken back',
  statement_refund: 'Statement refunded',
  statement_dispute_lost: 'Statement: dispute lost',
};

export const creditWords = (kind: CreditKind): string => CREDIT_WORDS[kind] ?? kind;

const METER_WORDS: Readonly<Record<string, string>> = {
  'run.runner': 'Sandbox runs on runners of the team',
  'run.service': 'Sandbox runs on runners of the service',
  'build.runner': 'Builds on runners of the team',
  'build.service': 'Builds on runners of the service',
  'credit.shortfall': 'Credit that was given back after it was used',
};

export const meterWords = (meter: string): string => METER_WORDS[meter] ?? meter;

const COVERED_WORDS: Readonly<Record<string, string>> = {
  included: 'Plan',
  granted_credit: 'Granted credit',
  bought_credit: 'Bought credit',
};

export const coveredWords = (by: string): string => COVERED_WORDS[by] ?? by;

const STATEMENT_WORDS: Readonly<Record<StatementState, string>> = {
  closed: 'Closed',
  settled: 'Nothing due',
  invoiced: 'Invoiced',
  paid: 'Paid',
  failed: 'Payment failed',
  voided: 'Given up',
};

export const statementWords = (state: StatementState): string => STATEMENT_WORDS[state] ?? state;

const STANDING_WORDS: Readonly<Record<BillingStanding, string>> = {
  self_hosted: 'Nothing is charged on this installation.',
  free: 'Nothing is bought.',
  active: 'The plan is paid for.',
  past_due: 'A payment failed. The plan holds for seven days from then.',
  pending: 'The first payment is not through yet.',
};

export const standingWords = (standing: BillingStanding): string => STANDING_WORDS[standing] ?? standing;
