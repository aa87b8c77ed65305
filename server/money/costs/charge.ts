/** One charge of an export, and how it is written by the columns of FOCUS 1.2 (https://focus.finops.org). */
import { decimalOf } from '../amounts/index.ts';
import { monthAfter } from '../plans/index.ts';
import { freeCell, quoted } from './csv.ts';

export interface Named {
  readonly id: string;
  readonly name: string | undefined;
}

export interface Account extends Named {
  readonly type: 'Account' | 'Team';
}

export type CoveredBy = 'included' | 'granted_credit' | 'bought_credit';

export interface Charge {
  readonly category: 'Usage' | 'Purchase' | 'Adjustment';
  readonly isCorrection: boolean;
  readonly description: string;
  readonly account: Account;
  /** First day of the month. */
  readonly period: string;
  /** First day, and the day after the last one. */
  readonly since: string;
  readonly until: string;
  /** Thousandths; null where nothing is counted. */
  readonly quantity: number | null;
  readonly unit: 'Seconds' | 'Units' | null;
  /** Of one, in billionths of the major unit. */
  readonly nanos: number | null;
  /** Pico-units. */
  readonly list: bigint;
  /** Null: the export has list costs alone. */
  readonly billed: bigint | null;
  readonly effective: bigint | null;
  readonly invoiceId: string | null;
  readonly meter: string | null;
  readonly priceId: string | null;
  readonly project: Named | undefined;
  readonly environment: Named | undefined;
  readonly runner: Named | undefined;
  readonly coveredBy: CoveredBy | null;
  readonly selfReportedMs: number | null;
  /** Of an item. */
  readonly itemId: string | null;
}

/** What all charges of an export have in common. */
export interface ExportedTeam {
  readonly team: Named;
  readonly currency: string;
  readonly regionId: string | undefined;
}

/** For people. */
const METERS: Readonly<Record<string, string>> = {
  'run.runner': 'Sandbox runs on runners of the team',
  'run.service': 'Sandbox runs on runners of the service',
  'build.runner': 'Builds on runners of the team',
  'build.service': 'Builds on runners of the service',
};

export function meterWords(meter: string): string {
  return METERS[meter] ?? meter;
}

const PROVIDER = 'svc';

function seconds(thousandths: number): string {
  const size = Math.abs(thousandths);
  return `${thousandths < 0 ? '-' : ''}${Math.trunc(size / 1_000)}.${String(size % 1_000).padStart(3, '0')}`;
}

function unitPrice(nanos: number): string {
  return `${Math.trunc(nanos / 1_000_000_000)}.${String(nanos % 1_000_000_000).padStart(9, '0')}`;
}

type Value = string | null | undefined;
type Write = (charge: Charge, of: ExportedTeam) => Value;
/** `plain`: a number, a date or a word of ours; `free`: what somebody named; `json`: JSON. */
type Kind = 'plain' | 'free' | 'json';

interface Resource extends Named {
  readonly type: 'Environment' | 'Project' | 'Runner';
}

function resourceOf({ environment, project, runner }: Charge): Resource | undefined {
  if (environment !== undefined) return { ...environment, type: 'Environment' };
  if (project !== undefined) return { ...project, type: 'Project' };
  return runner && { ...runner, type: 'Runner' };
}

function tagsOf({ project, environment }: Charge): string {
  return JSON.stringify({
    project: project?.name ?? project?.id,
    environment: environment?.name ?? environment?.id,
  });
}

const isUsage = ({ category }: Charge): boolean => category === 'Usage';
const quantityOf: Write = ({ quantity }) => (quantity === null ? null : seconds(quantity));
const priceOf: Write = ({ nanos }) => (nanos === null ? null : unitPrice(nanos));
const midnight = (day: string): string => `${day}T00:00:00Z`;

const COLUMNS: ReadonlyArray<readonly [name: string, kind: Kind, write: Write]> = [
  ['BillingAccountId', 'plain', ({ account }) => account.id],
  ['BillingAccountName', 'free', ({ account }) => account.name],
  ['BillingAccountType', 'plain', ({ account }) => account.type],
  ['SubAccountId', 'plain', (_charge, { team }) => team.id],
  ['SubAccountName', 'free', (_charge, { team }) => team.name],
  ['SubAccountType', 'plain', () => 'Team'],
  ['BillingPeriodStart', 'plain', ({ period }) => midnight(period)],
  ['BillingPeriodEnd', 'plain', ({ period }) => midnight(monthAfter(period))],
  ['ChargePeriodStart', 'plain', ({ since }) => midnight(since)],
  ['ChargePeriodEnd', 'plain', ({ until }) => midnight(until)],
  ['ChargeCategory', 'plain', ({ category }) => category],
  ['ChargeClass', 'plain', ({ isCorrection }) => (isCorrection ? 'Correction' : null)],
  ['ChargeDescription', 'plain', ({ description }) => description],
  ['ChargeFrequency', 'plain', (charge) => (isUsage(charge) ? 'Usage-Based' : 'One-Time')],
  ['ConsumedQuantity', 'plain', (charge, of) => (isUsage(charge) ? quantityOf(charge, of) : null)],
  ['ConsumedUnit', 'plain', (charge) => (isUsage(charge) ? charge.unit : null)],
  ['PricingCategory', 'plain', ({ nanos }) => (nanos === null ? null : 'Standard')],
  ['PricingQuantity', 'plain', quantityOf],
  ['PricingUnit', 'plain', ({ unit }) => unit],
  ['ListUnitPrice', 'plain', priceOf],
  ['ContractedUnitPrice', 'plain', priceOf],
  ['ListCost', 'plain', ({ list }) => decimalOf(list)],
  ['ContractedCost', 'plain', ({ list }) => decimalOf(list)],
  ['BilledCost', 'plain', ({ billed }) => (billed === null ? null : decimalOf(billed))],
  ['EffectiveCost', 'plain', ({ effective }) => (effective === null ? null : decimalOf(effective))],
  ['BillingCurrency', 'plain', (_charge, { currency }) => currency.toUpperCase()],
  ['InvoiceId', 'plain', ({ invoiceId }) => invoiceId],
  ['InvoiceIssuerName', 'plain', () => PROVIDER],
  ['ProviderName', 'plain', () => PROVIDER],
  ['PublisherName', 'plain', () => PROVIDER],
  ['ServiceName', 'plain', () => PROVIDER],
  ['ServiceCategory', 'plain', () => 'Developer Tools'],
  ['ServiceSubcategory', 'plain', () => 'Continuous Integration and Deployment'],
  ['SkuId', 'plain', ({ meter }) => meter],
  ['SkuMeter', 'plain', ({ meter }) => (meter === null ? null : meterWords(meter))],
  ['SkuPriceId', 'plain', ({ priceId }) => priceId],
  ['ResourceId', 'plain', (charge) => resourceOf(charge)?.id],
  ['ResourceName', 'free', (charge) => resourceOf(charge)?.name],
  ['ResourceType', 'plain', (charge) => resourceOf(charge)?.type],
  ['RegionId', 'free', (_charge, { regionId }) => regionId],
  ['Tags', 'json', tagsOf],
  ['x_RunnerId', 'plain', ({ runner }) => runner?.id],
  ['x_CoveredBy', 'plain', ({ coveredBy }) => coveredBy],
  ['x_SelfReportedSeconds', 'plain', ({ selfReportedMs: ms }) => (ms === null ? null : seconds(ms))],
  ['x_ItemId', 'plain', ({ itemId }) => itemId],
];

export const COLUMN_NAMES: readonly string[] = COLUMNS.map(([name]) => name);

export const CSV_HEADER = `${COLUMN_NAMES.join(',')}\r\n`;

/** What is not there is an empty field. */
export function csvLine(charge: Charge, of: ExportedTeam): string {
  let line = '';
  for (const [, kind, write] of COLUMNS) {
    const value = write(charge, of) ?? '';
    line += `${kind === 'free' ? freeCell(value) : quoted(value)},`;
  }
  return `${line.slice(0, -1)}\r\n`;
}

/** Amounts and quantities are decimal texts, which no reader rounds; what is not there is null. */
export function jsonLine(charge: Charge, of: ExportedTeam): string {
  let line = '';
  for (const [name, kind, write] of COLUMNS) {
    const value = write(charge, of) ?? null;
    line += `${line === '' ? '{' : ','}"${name}":${value === null || kind === 'json' ? String(value) : JSON.stringify(value)}`;
  }
  return `${line}}\n`;
}
