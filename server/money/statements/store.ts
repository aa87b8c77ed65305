/** Statements as others read and move them. Their figures never change. */
import { and, asc, desc, eq, inArray, isNull, lt, or, sql } from 'drizzle-orm';
import type { Statement } from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { Database } from '../../base/db/index.ts';
import { inTeams, type Row, type Who } from '../../kit/resource/index.ts';
import { decimalOf, decimalsOf } from '../amounts/index.ts';
import { paidBackOf } from '../credits/index.ts';
import { statementLines, statements } from './schema.ts';

export type StatementRow = Readonly<typeof statements.$inferSelect>;
export type StatementLineRow = Readonly<typeof statementLines.$inferSelect>;

type Reads = Pick<Database, 'orm'>;

export async function statementById({ orm }: Reads, id: string): Promise<StatementRow | undefined> {
  const [row] = await orm.select().from(statements).where(eq(statements.id, id));
  return row;
}

export async function linesOf({ orm }: Reads, id: string): Promise<StatementLineRow[]> {
  const { statementId, n } = statementLines;
  return await orm.select().from(statementLines).where(eq(statementId, id)).orderBy(asc(n));
}

export interface StatementsOf {
  readonly teamId: string;
  readonly limit: number;
  /** First day of the month that they are older than. */
  readonly before?: string | undefined;
}

/** Statements of a team that the caller may see, newest first, with their lines. */
export async function statementsOf(
  { db, teams }: Who,
  { teamId, limit, before }: StatementsOf,
): Promise<Array<Row<Statement>>> {
  const { orm } = db;
  const older = before === undefined ? undefined : lt(statements.period, before);
  const ofTeam = and(inTeams(statements, teams), eq(statements.teamId, teamId), older);
  const rows = await orm
    .select()
    .from(statements)
    .where(ofTeam)
    .orderBy(desc(statements.period))
    .limit(limit);
  const lines = await orm
    .select()
    .from(statementLines)
    .where(sql`${statementLines.statementId} = any(${sql.param(rows.map(({ id }) => id))}::text[])`)
    .orderBy(asc(statementLines.statementId), asc(statementLines.n));
  const paidBack = rows.length === 0 ? new Map<string, number>() : await paidBackOf(db.sql, teamId);
  return rows.map((row) => ({
    ...withLines(
      row,
      lines.filter(({ statementId }) => statementId === row.id),
    ),
    refundedCents: paidBack.get(row.id) ?? 0,
  }));
}

function withLines(row: StatementRow, lines: readonly StatementLineRow[]) {
  return {
    ...row,
    decimals: decimalsOf(row.currency),
    period: row.period.slice(0, 7),
    lines: lines.map(({ list, included, ...line }) => ({
      ...line,
      list: decimalOf(BigInt(list)),
      included: decimalOf(BigInt(included)),
    })),
  };
}

/**
 * States from which each one is reached. Notices of the provider come in any order, and what is paid or
 * voided has ended.
 */
const FROM = {
  invoiced: ['closed'],
  failed: ['closed', 'invoiced'],
  paid: ['closed', 'invoiced', 'failed'],
  voided: ['closed', 'invoiced', 'failed'],
} as const;

export interface Move {
  readonly id: string;
  readonly to: keyof typeof FROM;
  readonly invoiceId: string;
  readonly invoiceUrl?: string | undefined;
}

/**
 * One statement, forward only, and for one invoice. False: it stands there already, has gone further, or has
 * another invoice.
 */
export async function moveStatement(
  { orm }: Reads,
  { id, to, invoiceId, invoiceUrl }: Move,
): Promise<boolean> {
  const isOurs = or(isNull(statements.invoiceId), eq(statements.invoiceId, invoiceId));
  const rows = await orm
    .update(statements)
    .set({ state: to, invoiceId, ...(invoiceUrl !== undefined && { invoiceUrl }) })
    .where(and(eq(statements.id, id), inArray(statements.state, [...FROM[to]]), isOurs))
    .returning({ id: statements.id });
  return rows.length > 0;
}
