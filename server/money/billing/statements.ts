/** Statements as this feature reads and moves them. */
import { and, asc, desc, eq, inArray, ne } from 'drizzle-orm';
import type { Database } from '../../platform/db/index.ts';
import { statementLines, statements } from '../statements/schema.ts';

export type StatementRow = Readonly<typeof statements.$inferSelect>;
export type StatementLineRow = Readonly<typeof statementLines.$inferSelect>;

type Reads = Pick<Database, 'orm'>;

export async function statementById({ orm }: Reads, id: string): Promise<StatementRow | undefined> {
  const [row] = await orm.select().from(statements).where(eq(statements.id, id));
  return row;
}

export async function linesOf({ orm }: Reads, id: string): Promise<StatementLineRow[]> {
  return await orm
    .select()
    .from(statementLines)
    .where(eq(statementLines.statementId, id))
    .orderBy(asc(statementLines.n));
}

/** Newest first. */
export async function statementsOfTeam(
  { orm }: Reads,
  teamId: string,
  limit: number,
): Promise<StatementRow[]> {
  return await orm
    .select()
    .from(statements)
    .where(eq(statements.teamId, teamId))
    .orderBy(desc(statements.period))
    .limit(limit);
}

export interface Move {
  readonly id: string;
  readonly to: 'invoiced' | 'paid' | 'failed' | 'voided';
  readonly invoiceId: string;
  readonly invoiceUrl: string | undefined;
}

/** False: it stands there already, or has ended elsewhere. */
export async function moveStatement(
  { orm }: Reads,
  { id, to, invoiceId, invoiceUrl }: Move,
): Promise<boolean> {
  const rows = await orm
    .update(statements)
    .set({ state: to, invoiceId, ...(invoiceUrl !== undefined && { invoiceUrl }) })
    .where(
      and(
        eq(statements.id, id),
        ne(statements.state, to),
        inArray(statements.state, ['closed', 'invoiced', 'failed']),
      ),
    )
    .returning({ id: statements.id });
  return rows.length > 0;
}
