/**
 * Prepares what a rig needs of the platform before it begins: two teams, enrollment tokens, and environments
 * that builds are submitted for.
 */
import { readFileSync } from 'node:fs';
import { createSvcSDK } from '@svc/sdk';
import { runsItself } from '../setup/own-runners.ts';
import { SETUP_PROJECT } from './entries.ts';

export interface Account {
  readonly apiKey: string;
  readonly teamId: string;
  readonly otherTeamId?: string;
  readonly environmentIds: readonly string[];
}

export interface AccountOptions {
  readonly serverUrl: string;
  /** Written by the first server at its first start. */
  readonly bootstrapPath: string;
  readonly runners: number;
  /** So many of the runners, the last ones, are of the other team. */
  readonly otherRunners: number;
  readonly environments: number;
}

/** Nothing is tried yet: what it is made with may take its time on a busy machine. */
const TIMEOUT_MS = 30_000;

/** Makes the teams. `tokens` has one for each runner, in their order. */
export async function prepareAccount({
  serverUrl,
  bootstrapPath,
  runners,
  otherRunners,
  environments,
}: AccountOptions): Promise<{ readonly account: Account; readonly tokens: readonly string[] }> {
  const keys = JSON.parse(readFileSync(bootstrapPath, 'utf8')) as { apiKey: string; staffApiKey: string };
  const sdk = createSvcSDK({ baseUrl: serverUrl, apiKey: keys.apiKey, timeoutMs: TIMEOUT_MS });
  const staff = createSvcSDK({ baseUrl: serverUrl, apiKey: keys.staffApiKey, timeoutMs: TIMEOUT_MS });
  const newTeam = async (name: string): Promise<string> => {
    const { id } = await sdk.teams.create(name);
    await runsItself(staff, id);
    return id;
  };
  const teamId = await newTeam('Faults');
  const otherTeamId = otherRunners > 0 ? await newTeam('Others') : undefined;
  const tokens: string[] = [];
  for (let i = 0; i < runners; i += 1) {
    const team = i >= runners - otherRunners ? (otherTeamId ?? teamId) : teamId;
    tokens.push((await sdk.runners.createEnrollToken(team)).token);
  }
  const environmentIds: string[] = [];
  if (environments > 0) {
    const project = await sdk.projects.create({ name: SETUP_PROJECT, teamId });
    for (let i = 0; i < environments; i += 1) {
      // Every second one deploys what it builds.
      const deploy = i % 2 === 0 ? { deploy: { kind: 'container' as const, app: `app-${i}` } } : {};
      const params = { name: `e${i}`, repository: 'https://git.example.com/a/b', ...deploy };
      environmentIds.push((await sdk.environments.create(project.id, params)).id);
    }
  }
  const other = otherTeamId === undefined ? {} : { otherTeamId };
  return { account: { apiKey: keys.apiKey, teamId, ...other, environmentIds }, tokens };
}
