/** What a rig needs of the platform before it begins: two teams, enrollment tokens, and environments that builds are submitted for. */
import { readFileSync } from 'node:fs';
import { createSvcSDK } from '@svc/sdk';
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

/** `tokens`: one for each runner, in their order. */
export async function prepareAccount({
  serverUrl,
  bootstrapPath,
  runners,
  otherRunners,
  environments,
}: AccountOptions): Promise<{ readonly account: Account; readonly tokens: readonly string[] }> {
  const keys = JSON.parse(readFileSync(bootstrapPath, 'utf8')) as { apiKey: string; staffApiKey: string };
  const sdk = createSvcSDK({ baseUrl: serverUrl, apiKey: keys.apiKey });
  const staff = createSvcSDK({ baseUrl: serverUrl, apiKey: keys.staffApiKey });
  const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
  if (region === undefined) throw new Error('no customer-operated region after the first start');
  const newTeam = async (name: string): Promise<string> => {
    const { id } = await sdk.teams.create(name);
    await staff.adminTeams.setRegion(id, region.id);
    return id;
  };
  const teamId = await newTeam('Faults');
  const otherTeamId = otherRunners > 0 ? await newTeam('Others') : undefined;
  const tokens: string[] = [];
  for (let i = 0; i < runners; i += 1) {
    const team = i >= runners - otherRunners ? (otherTeamId ?? teamId) : teamId;
    tokens.push((await sdk.runners.createEnrollToken(team)).token);
  }
  const environmentIds = await createEnvironments(serverUrl, keys.apiKey, teamId, environments);
  const other = otherTeamId === undefined ? {} : { otherTeamId };
  return { account: { apiKey: keys.apiKey, teamId, ...other, environmentIds }, tokens };
}

/** Every second one deploys what it builds. */
async function createEnvironments(
  serverUrl: string,
  apiKey: string,
  teamId: string,
  count: number,
): Promise<readonly string[]> {
  if (count === 0) return [];
  const create = async (path: string, body: object): Promise<string> => {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
    const response = await fetch(new URL(path, serverUrl), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const { id } = (await response.json()) as { readonly id?: string };
    if (id === undefined) throw new Error(`${path} answered ${response.status}`);
    return id;
  };
  const project = await create('/projects', { name: SETUP_PROJECT, teamId });
  const ids: string[] = [];
  for (let i = 0; i < count; i += 1) {
    const deploy = i % 2 === 0 ? { deploy: { kind: 'container', app: `app-${i}` } } : {};
    const body = { name: `e${i}`, repository: 'https://git.example.com/a/b', ...deploy };
    ids.push(await create(`/projects/${project}/environments`, body));
  }
  return ids;
}
