/**
 * Charges as lines, by the columns of FOCUS 1.2 (https://focus.finops.org). Columns stand in groups: what a
 * group says of one charge it says of many, and is kept, but for the figures. That is three quarters of the
 * time that a line takes.
 */
import { decimalOf } from '../amounts/index.ts';
import { meterWords } from '../metering/index.ts';
import { monthAfter } from '../plans/index.ts';
import type { Charge, ExportedTeam, Named } from './charge.ts';
import { freeCell, quoted } from './csv.ts';

const PROVIDER = 'svc';
/** Texts of a group that are kept; more are forgotten as a whole. */
const KEPT_MAX = 5_000;

function seconds(thousandths: number): string {
  const size = Math.abs(thousandths);
  return `${thousandths < 0 ? '-' : ''}${Math.trunc(size / 1_000)}.${String(size % 1_000).padStart(3, '0')}`;
}

function unitPrice(nanos: number): string {
  return `${Math.trunc(nanos / 1_000_000_000)}.${String(nanos % 1_000_000_000).padStart(9, '0')}`;
}

type Value = string | null | undefined;
/** `plain`: a number, a date, an id or a word of ours; `free`: what somebody named; `json`: JSON. */
type Kind = 'plain' | 'free' | 'json';

interface Group {
  readonly columns: ReadonlyArray<readonly [name: string, kind: Kind]>;
  /** Charges with the same key have the same values. Absent: each has its own, which need no quoting. */
  readonly key?: (charge: Charge) => string;
  values(charge: Charge, of: ExportedTeam): readonly Value[];
}

/** Reads names of columns, each with its kind behind a colon unless it is `plain`. */
const columnsOf = (text: string) =>
  text.split(/\s+/).map((column) => {
    const [name = '', kind = 'plain'] = column.split(':');
    return [name, kind as Kind] as const;
  });
const midnight = (day: string): string => `${day}T00:00:00Z`;

const PERIODS: Group = {
  columns:
    columnsOf(`BillingAccountId BillingAccountName:free BillingAccountType SubAccountId SubAccountName:free
    SubAccountType BillingPeriodStart BillingPeriodEnd ChargePeriodStart ChargePeriodEnd
    ChargeCategory ChargeClass ChargeDescription ChargeFrequency`),
  key: ({ account, period, since, until, category, isCorrection, description, meter }) =>
    `${account.id} ${period} ${since} ${until} ${category} ${isCorrection} ${description} ${meter}`,
  values: (charge, { team }) => {
    const { account, period, category } = charge;
    return [
      account.id,
      account.name,
      account.type,
      team.id,
      team.name,
      'Team',
      midnight(period),
      midnight(monthAfter(period)),
      midnight(charge.since),
      midnight(charge.until),
      category,
      charge.isCorrection ? 'Correction' : null,
      charge.description,
      category === 'Usage' ? 'Usage-Based' : isPlan(charge) ? 'Recurring' : 'One-Time',
    ];
  },
};

const FIGURES: Group = {
  columns: columnsOf(`ConsumedQuantity ConsumedUnit PricingCategory PricingQuantity PricingUnit ListUnitPrice
    ContractedUnitPrice ListCost ContractedCost BilledCost EffectiveCost`),
  values: ({ category, quantity, unit, nanos, list, billed, effective }) => {
    const isUsage = category === 'Usage';
    const count = quantity === null ? null : seconds(quantity);
    const price = nanos === null ? null : unitPrice(nanos);
    const cost = decimalOf(list);
    const costOf = (pico: bigint): Value => (pico === list ? cost : decimalOf(pico));
    return [
      isUsage ? count : null,
      isUsage ? unit : null,
      nanos === null ? null : 'Standard',
      count,
      unit,
      price,
      price,
      cost,
      cost,
      costOf(billed),
      costOf(effective),
    ];
  },
};

/** Words for SKUs that are no meter. */
const SKU_WORDS: Readonly<Record<string, string>> = { credit: 'Credit' };

const isPlan = ({ meter }: Charge): boolean => meter?.startsWith('plan.') === true;

/** A plan is named by its description. */
const skuWords = (meter: string): string =>
  SKU_WORDS[meter] ?? (meter.startsWith('plan.') ? 'Plan' : meterWords(meter));

const SKUS: Group = {
  columns:
    columnsOf(`BillingCurrency InvoiceId InvoiceIssuerName ProviderName PublisherName ServiceName ServiceCategory
    ServiceSubcategory SkuId SkuMeter SkuPriceId SkuPriceDetails:json`),
  key: ({ invoiceId, meter, priceId }) => `${invoiceId} ${meter} ${priceId}`,
  values: ({ category, invoiceId, meter, priceId, nanos }, { currency }) => [
    currency.toUpperCase(),
    invoiceId,
    PROVIDER,
    PROVIDER,
    PROVIDER,
    PROVIDER,
    'Developer Tools',
    'Continuous Integration and Deployment',
    meter,
    meter === null ? null : skuWords(meter),
    priceId,
    category === 'Usage' ? JSON.stringify({ x_NanosPerSecond: nanos }) : null,
  ],
};

interface Resource extends Named {
  readonly type: 'Environment' | 'Project' | 'Runner';
}

function resourceOf({ environment, project, runner }: Charge): Resource | undefined {
  if (environment !== undefined) return { ...environment, type: 'Environment' };
  if (project !== undefined) return { ...project, type: 'Project' };
  return runner && { ...runner, type: 'Runner' };
}

const RESOURCES: Group = {
  columns: columnsOf('ResourceId ResourceName:free ResourceType RegionId RegionName:free Tags:json'),
  key: (charge) => {
    const { project, environment, runner } = charge;
    return `${project?.id} ${environment?.id ?? (project === undefined ? runner?.id : '')}`;
  },
  values: (charge, { regionId, regionName }) => {
    const { project, environment } = charge;
    const resource = resourceOf(charge);
    const tags = { project: project?.name ?? project?.id, environment: environment?.name ?? environment?.id };
    return [resource?.id, resource?.name, resource?.type, regionId, regionName, JSON.stringify(tags)];
  },
};

const OWN: Group = {
  columns: columnsOf('x_RunnerId x_CoveredBy x_SelfReportedSeconds x_ItemId'),
  values: ({ runner, coveredBy, selfReportedMs: ms, itemId }) => [
    runner?.id,
    coveredBy,
    ms === null ? null : seconds(ms),
    itemId,
  ],
};

const GROUPS: readonly Group[] = [PERIODS, FIGURES, SKUS, RESOURCES, OWN];

export const COLUMN_NAMES: readonly string[] = GROUPS.flatMap(({ columns }) => columns.map(([name]) => name));

export const CSV_HEADER = `${COLUMN_NAMES.join(',')}\r\n`;

/** Writes the charges of one team, line by line. */
export type Lines = (charge: Charge) => string;

function kept({ key, values }: Group, of: ExportedTeam, write: (values: readonly Value[]) => string): Lines {
  if (key === undefined) return (charge) => write(values(charge, of));
  const known = new Map<string, string>();
  return (charge) => {
    const name = key(charge);
    const text = known.get(name) ?? write(values(charge, of));
    if (known.size > KEPT_MAX) known.clear();
    known.set(name, text);
    return text;
  };
}

/** What is not there is an empty field. */
export function csvLines(of: ExportedTeam): Lines {
  const parts = GROUPS.map((group) =>
    kept(group, of, (values) =>
      group.key === undefined
        ? values.join(',')
        : values.map((value, n) => cell(value ?? '', group.columns[n]?.[1])).join(','),
    ),
  );
  return (charge) => `${parts.map((part) => part(charge)).join(',')}\r\n`;
}

function cell(value: string, kind: Kind | undefined): string {
  return kind === 'free' ? freeCell(value) : quoted(value);
}

/** Amounts and quantities are decimal texts, which no reader rounds; what is not there is null. */
export function jsonLines(of: ExportedTeam): Lines {
  const parts = GROUPS.map((group) =>
    kept(group, of, (values) =>
      values
        .map((value, n) => {
          const [name, kind] = group.columns[n] ?? [];
          return `"${name}":${value === undefined || value === null || kind === 'json' ? String(value ?? null) : JSON.stringify(value)}`;
        })
        .join(','),
    ),
  );
  return (charge) => `{${parts.map((part) => part(charge)).join(',')}}\n`;
}
