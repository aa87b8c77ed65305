/**
 * Two servers with their keys in a Vault that counts what it signs: for stories in which a server is killed,
 * or is late, or has a wrong clock, while it records evidence.
 */
import { writeFileSync } from 'node:fs';
import type { SvcSDK } from '@svc/sdk';
import { IMAGE, scriptedRunner } from '../setup/builds/scripted-runner.ts';
import type { Offer, ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { startVault } from '../setup/vault/vault.ts';
import type { TestVault } from '../setup/vault/vault.ts';
import { waitFor } from '../setup/wait-for.ts';
import { clockFile } from './clock.ts';
import type { ManagedProcess } from './managed-process.ts';
import { startTwoServers, WITHIN } from './two-servers.ts';
import type { TwoServers } from './two-servers.ts';

export interface EvidenceServer {
  readonly process: ManagedProcess;
  /** SDK of the owner of the team. */
  readonly sdk: SvcSDK;
  /** The same in a session. */
  signedIn(): Promise<SvcSDK>;
  /** Its clock is so much ahead from now on. */
  stepClock(byMs: number): Promise<void>;
}

export interface EvidenceWorld extends Pick<TwoServers, 'sql' | 'hold' | 'untilWaiting' | 'stop'> {
  /** The one that the runner speaks to. */
  readonly one: EvidenceServer;
  readonly other: EvidenceServer;
  /** SDK of the other one, who is staff. */
  readonly staff: SvcSDK;
  readonly vault: TestVault;
  readonly runner: ScriptedRunner;
  readonly teamId: string;
  readonly projectId: string;
  environment(more?: { readonly deploy?: { readonly kind: 'container' } }): Promise<string>;
  /** A build that the runner has been given. */
  submitted(environmentId: string, by: SvcSDK): Promise<{ readonly buildId: string; readonly offer: Offer }>;
  /** Jobs whose worker is dead, or late, are anybody's at once and not after a minute. */
  loseJobs(): Promise<void>;
  /** Nothing is left to do of the kind. */
  untilDone(kind: string): Promise<void>;
}

/** Tolerance of a clock that was stepped by minutes. */
const NEARLY_MS = 30_000;
const REPOSITORY = 'https://git.example.com/acme/web';

export const imageOf = (digest: string) => ({
  image: IMAGE,
  digest,
  commit: 'c'.repeat(40),
  buildType: 'dockerfile',
});

export async function startEvidenceWorld(): Promise<EvidenceWorld> {
  const vault = await startVault();
  const servers = await startTwoServers({
    VAULT_ADDR: vault.address,
    VAULT_TOKEN: vault.token,
    SWEEP_EVERY_MS: '100',
    LEASE_MS: '3600000',
    OFFER_MS: '3600000',
  }).catch(async (error: unknown) => {
    await vault.stop();
    throw error;
  });
  const { sql, hold, untilWaiting } = servers;
  const stop = async (): Promise<void> => {
    await servers.stop();
    await vault.stop();
  };
  try {
    const people = await peopled(servers.sdkAt(0), servers.staffAt(0), servers.urls[0]);
    const [one, other] = ([0, 1] as const).map((n): EvidenceServer => {
      const [process, sdk] = [servers.processes[n], servers.sdkAt(n)];
      const clock = clockFile(servers.folder, process.name);
      const stepClock = async (byMs: number): Promise<void> => {
        writeFileSync(clock, String(byMs));
        await waitFor(`the clock of ${process.name}`, async () => {
          const { createdAt } = await sdk.projects.create({ name: 'clock', teamId: people.teamId });
          return Math.abs(Date.parse(createdAt ?? '') - Date.now() - byMs) < NEARLY_MS;
        });
      };
      return { process, sdk, signedIn: async () => await servers.signedInAt(n), stepClock };
    }) as [EvidenceServer, EvidenceServer];
    return {
      one,
      other,
      staff: servers.staffAt(1),
      sql,
      vault,
      ...people,
      hold,
      untilWaiting,
      loseJobs: async () => void (await sql`update jobs set due_at = now() where state = 'running'`),
      untilDone: async (kind) =>
        void (await waitFor(
          `the end of all ${kind}`,
          async () => (await sql`select 1 from jobs where kind = ${kind}`).length === 0,
          WITHIN,
        )),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes a team with a project and a runner. */
async function peopled(
  sdk: SvcSDK,
  staff: SvcSDK,
  url: string,
): Promise<Pick<EvidenceWorld, 'teamId' | 'projectId' | 'runner' | 'environment' | 'submitted'>> {
  const teamId = (await sdk.teams.create('makers')).id;
  const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
  await staff.adminTeams.setRegion(teamId, region?.id ?? '');
  const projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  const { token } = await sdk.runners.createEnrollToken(teamId);
  const runner = await scriptedRunner(url, token);
  let names = 0;
  return {
    teamId,
    projectId,
    runner,
    environment: async (more = {}) => {
      const params = { name: `e${(names += 1)}`, repository: REPOSITORY, ...more };
      return (await sdk.environments.create(projectId, params)).id;
    },
    submitted: async (environmentId, by) => {
      const { id: buildId } = await by.builds.create(environmentId);
      return { buildId, offer: await runner.take() };
    },
  };
}
