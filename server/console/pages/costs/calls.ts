/** Names the resources of the SDK that the page uses. */
import { Billing, Budgets, Costs, Environments, Plans, Projects, Teams } from '@svc/sdk';
import { client } from '../../api.ts';

export const billing = new Billing(client);
export const budgets = new Budgets(client);
export const costs = new Costs(client);
export const environments = new Environments(client);
export const plans = new Plans(client);
export const projects = new Projects(client);
const teams = new Teams(client);
export const billingOf = async (teamId: string) => await teams.billing(teamId);
