/** Reads costs by way of the console's cache, and what only admins and owners see of them. */
import {
  SvcApiError,
  type Budget,
  type CostAnomaly,
  type CostsCreditBalanceResponse,
  type CostSummary,
  type Plan,
  type TeamBilling,
} from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { billingOf, budgets, costs, environments, plans, projects } from './calls.ts';
import { namesOf, type Names } from './words.ts';

/** Costs follow reports within seconds; nobody watches them to the second. */
const READ_EVERY_MS = 30_000;

export interface Money {
  readonly billing: TeamBilling;
  readonly credit: CostsCreditBalanceResponse;
  readonly plans: readonly Plan[];
}

export interface TeamCosts {
  readonly summary: CostSummary;
  readonly anomalies: readonly CostAnomaly[];
  readonly budgets: readonly Budget[];
  /** Names of what the budgets are of, by id. */
  readonly names: Names;
  /** It is undefined where the person may not see it. */
  readonly money: Money | undefined;
}

/** It reads `absent` where there is no such team. */
export const useCosts = (teamId: string) =>
  useRead(
    `costs ${teamId}`,
    async () => await ifMissing('absent' as const, async () => await readCosts(teamId)),
    READ_EVERY_MS,
  );

async function readCosts(teamId: string): Promise<TeamCosts> {
  const [summary, anomalies, list, money] = await Promise.all([
    costs.summary(teamId),
    costs.anomalies(teamId),
    budgets.list(teamId),
    readMoney(teamId),
  ]);
  return { summary, anomalies, budgets: list, names: await readNames(summary, list), money };
}

/** Projects whose environments are asked for by name; those of the others are named by their ids. */
const NAMED_MAX = 4;

/** The summary has the names of places that have cost something; budgets may be of others. */
async function readNames({ byProject, byEnvironment }: CostSummary, list: readonly Budget[]): Promise<Names> {
  const known = namesOf([...byProject, ...byEnvironment]);
  const unnamed = list.filter(
    ({ projectId, environmentId, scopeDeleted }) =>
      !scopeDeleted && projectId !== undefined && !known.has(environmentId ?? projectId),
  );
  if (unnamed.length === 0) return known;
  const of = new Set(
    unnamed.flatMap((each) => (each.environmentId === undefined ? [] : [each.projectId ?? ''])),
  );
  const found = await Promise.all([
    projects.list(),
    ...[...of].slice(0, NAMED_MAX).map(async (id) => await environments.list(id)),
  ]);
  return new Map([...known, ...namesOf(found.flat())]);
}

const readMoney = async (teamId: string): Promise<Money | undefined> =>
  await ifForbidden(undefined, async () => {
    const [billing, credit, catalogue] = await Promise.all([
      billingOf(teamId),
      costs.creditBalance(teamId),
      plans.list(),
    ]);
    return { billing, credit, plans: catalogue };
  });

/** Resolves with `instead` where the person may not see what is read. */
export async function ifForbidden<T, E>(instead: E, read: () => Promise<T>): Promise<T | E> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SvcApiError && error.status === 403) return instead;
    throw error;
  }
}
