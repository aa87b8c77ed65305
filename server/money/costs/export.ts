/**
 * This file exports costs as CSV or JSON, by the columns of FOCUS 1.2. A file that fails on the way is broken
 * off by the door, which no client takes for a whole one.
 */
import {
  CostExportDetail,
  type ExportCsvRequest,
  type ExportJsonRequest,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { Slots } from '../../base/slots.ts';
import { decimalOf } from '../amounts/index.ts';
import type { Pricing } from '../plans/index.ts';
import type { Charge, ExportedTeam } from './charge.ts';
import { CSV_HEADER, csvLines, jsonLines, type Lines } from './columns.ts';
import { costDaysOf, type CostDays } from './days.ts';
import { dayCharges } from './export-days.ts';
import { itemCharges } from './export-items.ts';
import type { ExportOf } from './export-of.ts';
import { feeCharges } from './export-fees.ts';
import { purchaseCharges } from './export-purchases.ts';
import { createNames } from './names.ts';

/** Most exports of an account that run at once in this process. */
const EXPORTS_MAX = 2;

export interface Bytes {
  readonly contentType: string;
  readonly data: Uint8Array;
}

interface Format {
  readonly extension: 'csv' | 'jsonl';
  readonly contentType: string;
  readonly first: string;
  lines(of: ExportedTeam): Lines;
  last(totals: Totals): string;
}

const CSV: Format = {
  extension: 'csv',
  contentType: 'text/csv; charset=utf-8; header=present',
  first: CSV_HEADER,
  lines: csvLines,
  last: () => '',
};

const NDJSON: Format = {
  extension: 'jsonl',
  contentType: 'application/x-ndjson; charset=utf-8',
  first: '',
  lines: jsonLines,
  last: ({ rows, list, billed, effective }) =>
    `${JSON.stringify({
      rows,
      totals: {
        ListCost: decimalOf(list),
        BilledCost: decimalOf(billed),
        EffectiveCost: decimalOf(effective),
      },
    })}\n`,
};

type ExportRequest = Omit<ExportCsvRequest | ExportJsonRequest, '$typeName' | '$unknown'>;

type Export = (request: ExportRequest, ctx: Ctx, pricing: Pricing) => Promise<AsyncIterable<Bytes>>;

export function createExports() {
  const slots = new Slots('this account', 'exports', EXPORTS_MAX);
  const begin =
    (format: Format): Export =>
    async (request, ctx, pricing) => {
      const days = costDaysOf(request, ctx.clock.now());
      const name = `costs-${days.since}-${days.until}.${format.extension}`;
      ctx.call.responseHeaders.set('content-disposition', `attachment; filename="${name}"`);
      return await Promise.resolve(inSlot({ slots, ctx }, written({ request, ctx, pricing, days, format })));
    };
  return { csv: begin(CSV), json: begin(NDJSON) };
}

/** The place is taken when the first bytes are asked for: a refusal then is an ordinary one still. */
async function* inSlot(
  { slots, ctx: { caller } }: { readonly slots: Slots; readonly ctx: Pick<Ctx, 'caller'> },
  bytes: AsyncIterable<Bytes>,
): AsyncGenerator<Bytes> {
  const holder = caller.userId === '' ? caller.credentialId : caller.userId;
  slots.assertRoom(holder);
  slots.add(holder, 1);
  try {
    yield* bytes;
  } finally {
    slots.add(holder, -1);
  }
}

interface Writing {
  readonly request: ExportRequest;
  readonly ctx: Ctx;
  readonly pricing: Pricing;
  readonly days: CostDays;
  readonly format: Format;
}

interface Totals {
  rows: number;
  list: bigint;
  billed: bigint;
  effective: bigint;
}

async function* written({ request, ctx, pricing, days, format }: Writing): AsyncGenerator<Bytes> {
  const { contentType } = format;
  const bytes = (text: string): Bytes => ({ contentType, data: Buffer.from(text) });
  if (format.first !== '') yield bytes(format.first);
  const of: ExportOf = {
    ...days,
    ...pricing,
    ...(await readTeam(ctx, request.teamId)),
    reader: ctx,
    names: createNames(ctx, request.teamId),
  };
  const totals: Totals = { rows: 0, list: 0n, billed: 0n, effective: 0n };
  const line = format.lines(of);
  for await (const charges of chargesOf(of, request.detail)) {
    ctx.call.signal.throwIfAborted();
    yield bytes(charges.map(line).join(''));
    count(totals, charges);
  }
  const last = format.last(totals);
  if (last !== '') yield bytes(last);
}

async function* chargesOf(of: ExportOf, detail: CostExportDetail | undefined) {
  yield* detail === CostExportDetail.ITEMS ? itemCharges(of) : dayCharges(of);
  yield* purchaseCharges(of);
  yield* feeCharges(of);
}

function count(totals: Totals, charges: readonly Charge[]): void {
  totals.rows += charges.length;
  for (const { list, billed, effective } of charges) {
    totals.list += list;
    totals.billed += billed;
    totals.effective += effective;
  }
}

async function readTeam({ db, teams }: Pick<Ctx, 'db' | 'teams'>, teamId: string) {
  const [row] = await db.behind.sql<Array<{ name: string; regionId: string; regionName: string }>>`
    select t.name, t.region_id as "regionId", r.name as "regionName" from teams t join regions r on r.id = t.region_id
    where t.id = ${teamId} and t.id = any(${teams.teamIds}::text[])`;
  const { regionId, regionName } = row ?? {};
  return { team: { id: teamId, name: row?.name }, regionId, regionName };
}
