/**
 * Two servers with their keys in a Vault that counts what it signs: for stories in which a server is killed,
 * or is late, or has a wrong clock, while it records evidence.
 */
import { writeFileSync } from 'node:fs';
import type { SvcSDK } from '@svc/sdk';
import { IMAGE, scriptedRunner } from '../setup/builds/scripted-runner.ts';
import { runsItself } from '../setup/own-runners.ts';
import { startVault } from '../setup/vault/vault.ts';
import { waitFor } from '../setup/wait-for.ts';
import { clockFile } from './clock.ts';
import { startTwoServers, WITHIN } from './two-servers.ts';

export type EvidenceWorld = Awaited<ReturnType<typeof startEvidenceWorld>>;

/** Tolerance of a clock that was stepped by minutes. */
const NEARLY_MS = 30_000;
const REPOSITORY = 'https://git.example.com/acme/web';

export const imageOf = (digest: string) => ({
  image: IMAGE,
  digest,
  commit: 'c'.repeat(40),
  buildType: 'dockerfile',
});

export async function startEvidenceWorld() {
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
    const serverOf = (n: 0 | 1) => {
      const [process, sdk] = [servers.processes[n], servers.sdkAt(n)];
      const clock = clockFile(servers.folder, process.name);
      /** Its clock is so much ahead from now on. */
      const stepClock = async (byMs: number): Promise<void> => {
        writeFileSync(clock, String(byMs));
        await waitFor(`the clock of ${process.name}`, async () => {
          const { createdAt } = await sdk.projects.create({ name: 'clock', teamId: people.teamId });
          return Math.abs(Date.parse(createdAt ?? '') - Date.now() - byMs) < NEARLY_MS;
        });
      };
      return { process, sdk, signedIn: async () => await servers.signedInAt(n), stepClock };
    };
    return {
      /** It is the one that the runner speaks to. */
      one: serverOf(0),
      other: serverOf(1),
      /** SDK of the other one, who is staff. */
      staff: servers.staffAt(1),
      sql,
      vault,
      ...people,
      hold,
      untilWaiting,
      /** Jobs whose worker is dead, or late, are anybody's at once and not after a minute. */
      loseJobs: async () => void (await sql`update jobs set due_at = now() where state = 'running'`),
      /** Nothing is left to do of the kind. */
      untilDone: async (kind: string) =>
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
async function peopled(sdk: SvcSDK, staff: SvcSDK, url: string) {
  const teamId = (await sdk.teams.create('makers')).id;
  await runsItself(staff, teamId);
  const projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  const { token } = await sdk.runners.createEnrollToken(teamId);
  const runner = await scriptedRunner(url, token);
  let names = 0;
  return {
    teamId,
    projectId,
    runner,
    environment: async (more: { readonly deploy?: { readonly kind: 'container' } } = {}) => {
      const params = { name: `e${(names += 1)}`, repository: REPOSITORY, ...more };
      return (await sdk.environments.create(projectId, params)).id;
    },
    /** Submits a build and gives it to the runner. */
    submitted: async (environmentId: string, by: SvcSDK) => {
      const { id: buildId } = await by.builds.create(environmentId);
      return { buildId, offer: await runner.take() };
    },
  };
}
