/** One charge of an export. */

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
  /** Price of one, in billionths of the major unit. */
  readonly nanos: number | null;
  /** Pico-units. */
  readonly list: bigint;
  readonly billed: bigint;
  readonly effective: bigint;
  readonly invoiceId: string | null;
  /** Meter, `credit`, or `plan.` with a plan; it is null for what has no price. */
  readonly meter: string | null;
  readonly priceId: string | null;
  readonly project: Named | undefined;
  readonly environment: Named | undefined;
  readonly runner: Named | undefined;
  readonly coveredBy: CoveredBy | null;
  readonly selfReportedMs: number | null;
  /** Id of the item; null for a day. */
  readonly itemId: string | null;
}

/** All charges of an export have these in common. */
export interface ExportedTeam {
  readonly team: Named;
  readonly currency: string;
  readonly regionId: string | undefined;
  readonly regionName: string | undefined;
}
