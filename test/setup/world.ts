/**
 * Gives a team of one's own in the one server of this process: people with their clients, a project, staff.
 * For tests that need a platform and not a platform of their own: what they make is theirs by its team, and
 * nobody counts rows of the whole. A test that changes settings, features or the clock starts a server
 * itself.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { inject } from 'vitest';
import { scriptedRunner } from './builds/scripted-runner.ts';
import { createMigratedDatabase } from './database.ts';
import { runsItself } from './own-runners.ts';
import { firstSession, join, stranger, type Person } from './people.ts';
import { startTestServer, type TestServer } from './server.ts';

export interface Member extends Person {
  /** It acts by the session and tries a call once. */
  readonly sdk: SvcSDK;
}

export type World = Awaited<ReturnType<typeof world>>;

/** Kept on the process, whatever becomes of the modules of a file. */
const HELD = Symbol.for('svc.test.world');
interface Holder {
  [HELD]?: Promise<TestServer>;
}

async function startShared(): Promise<TestServer> {
  const prefix = inject('worldPrefix');
  const { url } = await createMigratedDatabase(prefix);
  return await startTestServer({ databaseUrl: url, dataDir: mkdtempSync(joinPath(tmpdir(), `${prefix}_`)) });
}

export async function world() {
  const holder = process as Holder;
  const server = await (holder[HELD] ??= startShared());
  const as = (token?: string): SvcSDK =>
    createSvcSDK({ baseUrl: server.baseUrl, maxRetries: 0, ...(token !== undefined && { token }) });
  const person = async () => {
    const made = await stranger(server);
    return { ...made, sdk: as(made.token) };
  };
  const owner = await person();
  const { teamId, sdk } = owner;
  const projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  const members = new Map<string, Promise<Member>>();
  const staff = as(server.first.staffApiKey);
  return {
    server,
    teamId,
    /** It is a project of the team. */
    projectId,
    owner,
    /** It is the owner's client: most calls of a test are theirs. */
    sdk,
    /** Makes somebody with a verified address and a team of their own. */
    stranger: person,
    /** It is a client with the staff key of the first start. */
    staff,
    /** Makes a client with this key or session; without one it is nobody's. */
    as,
    /** Returns a person with this role in the team, made when first asked for. */
    async member(role: 'admin' | 'developer' | 'viewer'): Promise<Member> {
      const known = members.get(role);
      if (known !== undefined) return await known;
      const made = join(server, owner.token, { teamId, role }).then((joined) => ({
        ...joined,
        sdk: as(joined.token),
      }));
      members.set(role, made);
      return await made;
    },
    /** Makes a client with a session of the staff account, for acts that no key does. */
    staffSession: async () => as(await firstSession(server)),
    /** Sends the team's work to its own runners, and enrolls one that the test speaks for. */
    async runner() {
      await runsItself(staff, teamId);
      return await scriptedRunner(server.baseUrl, (await sdk.runners.createEnrollToken(teamId)).token);
    },
  };
}
