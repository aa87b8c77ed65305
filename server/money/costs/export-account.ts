/** This file reads who pays for a team's month, and what its statement says of it. */
import { findUserById } from '../../access/accounts/index.ts';
import { payingFor } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { picoOf } from '../amounts/index.ts';
import { monthEnd } from '../plans/index.ts';
import type { StatementRow } from '../statements/index.ts';
import type { Account, Named } from './charge.ts';

export type Reader = Pick<Ctx, 'db' | 'teams'>;

export interface Statement {
  readonly id: string;
  /** Pico-units. */
  readonly due: bigint;
  /** Credit that paid for it. */
  readonly granted: bigint;
  readonly bought: bigint;
}

export interface Month {
  /** First day. */
  readonly period: string;
  readonly account: Account;
  /** It is absent while the month is open. */
  readonly statement: Statement | undefined;
}

export interface MonthQuestion {
  readonly team: Named;
  readonly period: string;
  readonly currency: string;
}

export async function monthOfTeam(reader: Reader, { team, period, currency }: MonthQuestion): Promise<Month> {
  const found = await statementOf(reader, { teamId: team.id, period });
  const before = monthEnd(period);
  const { payerId } = found ?? (await payingFor(reader.db.behind.sql, { teamId: team.id, before }));
  const account = await accountOf(reader, payerId, team);
  if (found === undefined) return { period, account, statement: undefined };
  const { id, dueCents, creditCents, grantedCents } = found;
  const pico = (cents: number): bigint => picoOf(cents, currency);
  const statement = {
    id,
    due: pico(dueCents),
    granted: pico(grantedCents),
    bought: pico(creditCents - grantedCents),
  };
  return { period, account, statement };
}

/** A team that nobody is known to pay for stands for itself. */
async function accountOf({ db }: Reader, payerId: string | null, team: Named): Promise<Account> {
  if (payerId === null) return { ...team, type: 'Team' };
  const user = await findUserById(db, payerId);
  return { id: payerId, name: user?.username, type: 'Account' };
}

type Stated = Pick<StatementRow, 'id' | 'payerId' | 'dueCents' | 'creditCents'> & {
  readonly grantedCents: number;
};

/** Sources of its transfers begin with the statement's id. */
async function statementOf(
  { db, teams }: Reader,
  { teamId, period }: { readonly teamId: string; readonly period: string },
): Promise<Stated | undefined> {
  const [row] = await db.behind.sql<Stated[]>`
    select s.id, s.payer_id as "payerId", s.due_cents::float8 as "dueCents", s.credit_cents::float8 as "creditCents",
      (select coalesce(sum(t.cents), 0)::float8 from credit_transfers t join credit_transfers b on b.id = t.block_id and b.kind = 'grant'
        where t.team_id = s.team_id and t.kind = 'usage' and starts_with(t.source, s.id)) as "grantedCents"
    from statements s
    where s.team_id = ${teamId} and s.team_id = any(${teams.teamIds}::text[]) and s.period = ${period}::date`;
  return row;
}
