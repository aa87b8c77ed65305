/** The ledger as teams and staff read it. */
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { wrongField } from '../../kit/wrong-field.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  AdminAuditService,
  AuditCheckpointSchema,
  AuditEntrySchema,
  AuditService,
  ChainReportSchema,
  type AuditEntry,
  type ListRequest as AuditServiceListRequest,
} from '@svc/proto/gen/svc/audit/v1/audit_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import type { Database } from '../../base/db/index.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { PLATFORM_CHAIN } from '../../kit/ledger/append.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import type { Signer } from './checkpoint.ts';
import { NO_HASH, type AuditRow } from '../../kit/ledger/entry.ts';
import { shown } from '../../kit/resource/index.ts';
import { gatherEvidence, withOwn } from './evidence.ts';
import { createOneAtATime } from './one-at-a-time.ts';
import {
  findHead,
  listEntries,
  searchEntries,
  streamChains,
  streamEntries,
  type EntryFilter,
  type Head,
} from './store.ts';
import { verifyChain, type Evidence, type Report } from './verify.ts';

export interface AuditDeps {
  readonly signer: Signer;
  readonly file: CheckpointFile;
}

/** Chains with a finding that are named; the rest is only counted. */
const BROKEN_MAX = 100;
const SEQ_MAX = 2_147_483_647;

export function createAudit(deps: AuditDeps): ReadonlyArray<Handlers<Ctx>> {
  const oneAtATime = createOneAtATime();
  return [
    implement(AuditService, {
      list: async (request, ctx: Ctx) => await list(ctx, request.teamId, request),
      verify: async ({ teamId, seq, hash }, ctx: Ctx) => {
        const own = ownPlace(seq, hash);
        const asked = { name: teamId, question: `${seq ?? ''} ${hash ?? ''}`, signal: ctx.call.signal };
        const report = await oneAtATime(asked, async (signal) => {
          const evidence = withOwn((await gatherEvidence(deps, teamId, signal)).get(teamId), own);
          return await verifyOne(ctx.db, { chain: teamId, evidence, signal });
        });
        return { report: shown(ChainReportSchema, report) };
      },
      export: async ({ teamId, after }, ctx: Ctx) => await exportChain(deps, ctx, { chain: teamId, after }),
    }),
    implement(AdminAuditService, {
      list: async (request, ctx: Ctx) => await list(ctx, PLATFORM_CHAIN, request),
      verify: async (_request, { call, db }: Ctx) =>
        await oneAtATime(
          { name: 'every chain', question: '', signal: call.signal },
          async (signal) => await verifyAll(deps, db, signal),
        ),
      export: async ({ after }, ctx: Ctx) => await exportChain(deps, ctx, { chain: PLATFORM_CHAIN, after }),
    }),
  ];
}

type ListRequest = Omit<AuditServiceListRequest, '$typeName' | 'teamId'>;

async function list(ctx: Ctx, chain: string, request: ListRequest) {
  const filter = filterOf(request);
  const isFiltered = Object.values(filter).some((each) => each !== undefined);
  const page = openPage(ctx, isFiltered ? `${chain} ${JSON.stringify(filter)}` : chain, request);
  const before = page.after === undefined ? SEQ_MAX + 1 : Number(page.after[0]);
  const asked = { chain, before, take: page.take };
  const { rows, lookedTo } = isFiltered
    ? await searchEntries(ctx.db.sql, { ...asked, filter })
    : { rows: await listEntries(ctx.db.sql, asked), lookedTo: 1 };
  const { items, ...next } = closePage(page, rows, ({ seq }) => [seq]);
  const further = lookedTo > 1 && { nextCursor: page.cursorOf([lookedTo]) };
  return { ...further, ...next, entries: items.map(showEntry) };
}

function filterOf({ action, target, actorId, since, until, seq }: ListRequest): EntryFilter {
  const times = { since: since && timestampDate(since), until: until && timestampDate(until) };
  return { action, target, actorId, seq, ...times };
}

function showEntry({ at, details, ...row }: AuditRow): AuditEntry {
  return shown(AuditEntrySchema, { ...row, at: new Date(at), details: details as JsonObject });
}

function ownPlace(seq: number | undefined, hash: string | undefined) {
  if (seq === undefined && hash === undefined) return undefined;
  if (seq !== undefined && hash !== undefined) return { seq, hash };
  throw wrongField('seq and hash of a kept entry go together; send both', {
    resource: 'audit entry',
    field: seq === undefined ? 'seq' : 'hash',
    rule: 'pair',
  });
}

interface Verifying {
  readonly chain: string;
  readonly evidence: Evidence;
  readonly signal: AbortSignal;
}

async function verifyOne({ sql }: Database, { chain, evidence, signal }: Verifying): Promise<Report> {
  const head = async () => await findHead(sql, chain);
  const rows = () => streamEntries(sql, chain, { after: -SEQ_MAX, signal });
  return await verifyChain(chain, { head, rows }, evidence);
}

async function verifyAll(deps: AuditDeps, db: Database, signal: AbortSignal) {
  // Read before the rows: what a checkpoint has seen is then certainly there.
  const evidence = await gatherEvidence(deps, undefined, signal);
  const broken: Report[] = [];
  const total = { chains: 0, entries: 0, intact: true };
  const check = async (chain: string): Promise<void> => {
    const report = await verifyOne(db, { chain, evidence: withOwn(evidence.get(chain), undefined), signal });
    evidence.delete(chain);
    total.chains += 1;
    total.entries += report.entries;
    if (report.finding === 'intact') return;
    total.intact = false;
    if (broken.length < BROKEN_MAX) broken.push(report);
  };
  for await (const chain of streamChains(db.sql)) await check(chain);
  // The chains that are left are known to a checkpoint, and not to the database any more.
  for (const chain of evidence.keys()) await check(chain);
  return { ...total, broken: broken.map((report) => shown(ChainReportSchema, report)) };
}

interface Exporting {
  readonly chain: string;
  readonly after: string;
}

async function exportChain(deps: AuditDeps, ctx: Ctx, { chain, after }: Exporting) {
  const { sql } = ctx.db.behind;
  const from = after === '' ? 0 : Number(after);
  if (!/^\d{0,10}$/.test(after) || from > SEQ_MAX)
    throw wrongField(`after is "${after}", expected the position of a line of this export`, {
      resource: 'audit entry',
      field: 'after',
      rule: 'pair',
    });
  const end = (await findHead(sql, chain)) ?? { seq: 0, hash: NO_HASH };
  return exportLines(deps, ctx, { chain, from, end });
}

interface ExportedPart {
  readonly chain: string;
  readonly from: number;
  readonly end: Head;
}

/** Yields what there was when it began, oldest first, and a fresh checkpoint of the last line. */
async function* exportLines({ signer }: AuditDeps, ctx: Ctx, { chain, from, end }: ExportedPart) {
  const { sql } = ctx.db.behind;
  let last = end;
  for await (const rows of streamEntries(sql, chain, { after: from, signal: ctx.call.signal })) {
    const before = rows.filter(({ seq }) => seq <= end.seq);
    for (const row of before) yield { position: String(row.seq), entry: showEntry(row) };
    last = before.at(-1) ?? last;
    if (before.length < rows.length) break;
  }
  const at = ctx.clock.now();
  const { seq, hash } = last;
  const checkpoint = signer.sign({ chain, seq, hash, at: at.getTime() });
  yield { position: String(seq), checkpoint: shown(AuditCheckpointSchema, { ...checkpoint, at }) };
}
