/** Reads a closed or an open month, a day of it with its items of work, and the receipt of one of these. */
import type { CostSummary, Receipt, Statement } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { billing, costs } from './calls.ts';
import { ifForbidden } from './reads.ts';
import { sumOf } from './words.ts';

/** Twenty years of them. */
export const STATEMENTS_MAX = 240;
/** Items that a day shows; whoever wants more takes the export, which this is the beginning of. */
export const ITEMS_MAX = 200;

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

/** `forbidden`: statements are for admins and owners. */
export type Statements = readonly Statement[] | 'forbidden';

const readStatements = async (teamId: string): Promise<Statements> =>
  await ifForbidden(
    'forbidden' as const,
    async () => await billing.listStatements(teamId, { limit: STATEMENTS_MAX }),
  );

export const useStatements = (teamId: string) =>
  useRead(`statements ${teamId}`, async () => await readStatements(teamId));

export interface MonthOfCosts {
  /** It is written as `2026-11` is. */
  readonly month: string;
  /** It is undefined while the month has none, or where the person may not see it. */
  readonly statement: Statement | undefined;
  readonly isForbidden: boolean;
  readonly summary: CostSummary;
}

/** `name` is the id of a statement, or a month. */
export const useMonth = (teamId: string, name: string) =>
  useRead(`month ${teamId} ${name}`, async () => await readMonth(teamId, name));

async function readMonth(teamId: string, name: string): Promise<MonthOfCosts | 'absent'> {
  const all = await readStatements(teamId);
  const isForbidden = all === 'forbidden';
  const statement = isForbidden ? undefined : all.find(({ id, period }) => id === name || period === name);
  const month = statement?.period ?? name;
  if (!MONTH.test(month)) return 'absent';
  const since = `${month}-01`;
  const summary = await costs.summary(teamId, { since, until: dayAfter(lastOf(month)) });
  return { month, statement, isForbidden, summary };
}

function lastOf(month: string): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
}

const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 24 * 60 * 60_000).toISOString().slice(0, 10);

export interface CostItem {
  readonly id: string;
  /** Words for its meter. */
  readonly work: string;
  readonly project: string | undefined;
  readonly environment: string | undefined;
  readonly seconds: number;
  /** Exact list price. */
  readonly list: string;
  /** Names of what covers parts of it. */
  readonly covered: readonly string[];
}

export interface DayOfCosts {
  readonly summary: CostSummary;
  /** It is undefined where the person may not see them. */
  readonly items: readonly CostItem[] | undefined;
  readonly isWhole: boolean;
}

export const isDay = (text: string): boolean => DAY.test(text) && text <= lastOf(text.slice(0, 7));

export const useDay = (teamId: string, day: string) =>
  useRead(`day ${teamId} ${day}`, async (): Promise<DayOfCosts> => {
    const span = { since: day, until: dayAfter(day) };
    const [summary, items] = await Promise.all([
      costs.summary(teamId, span),
      ifForbidden(undefined, async () => await readItems(teamId, span)),
    ]);
    return { summary, items: items?.slice(0, ITEMS_MAX), isWhole: (items?.length ?? 0) <= ITEMS_MAX };
  });

/** Columns of the export that are read. */
interface Row {
  readonly ChargeCategory?: string;
  readonly SkuMeter: string;
  readonly Tags: { readonly project?: string; readonly environment?: string } | null;
  readonly ConsumedQuantity: string;
  readonly ListCost: string;
  readonly x_CoveredBy: string | null;
  readonly x_ItemId: string;
}

/** Takes from the day's export what it shows, and leaves the rest of it unread. */
async function readItems(
  teamId: string,
  span: { readonly since: string; readonly until: string },
): Promise<readonly CostItem[]> {
  const items = new Map<string, CostItem>();
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of costs.exportJson(teamId, { ...span, detail: 'items' })) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) add(items, JSON.parse(line) as Row);
    if (items.size > ITEMS_MAX) break;
  }
  return [...items.values()];
}

/** Adds a row to its item: one that is partly covered has several. */
function add(items: Map<string, CostItem>, row: Row): void {
  const { ChargeCategory, SkuMeter, Tags, ConsumedQuantity, ListCost, x_CoveredBy, x_ItemId } = row;
  if (ChargeCategory !== 'Usage') return;
  const known = items.get(x_ItemId);
  items.set(x_ItemId, {
    id: x_ItemId,
    work: SkuMeter,
    project: Tags?.project,
    environment: Tags?.environment,
    seconds: (known?.seconds ?? 0) + Number(ConsumedQuantity),
    list: sumOf([known?.list ?? '0', ListCost]),
    covered: [...(known?.covered ?? []), ...(x_CoveredBy === null ? [] : [x_CoveredBy])],
  });
}

export const useReceipt = (teamId: string, itemId: string) =>
  useRead<Receipt | 'absent'>(
    `receipt ${teamId} ${itemId}`,
    async () => await ifMissing('absent' as const, async () => await costs.explain(teamId, itemId)),
  );
