/** A team with machines of its own, a project and people, for the pages of runners and builds. */
import { scriptedRunner, type ScriptedRunner } from '../setup/builds/scripted-runner.ts';
import { setColumns } from '../setup/columns.ts';
import { join, verify, type Person } from '../setup/people.ts';
import type { Console, Tab } from './console.ts';
import type { BrowserContextOptions, Page } from 'playwright-core';

export interface Fleet {
  readonly teamId: string;
  readonly projectId: string;
  readonly owner: Person;
  /** A call as the owner, which must succeed. */
  ok<T = Record<string, unknown>>(route: string, body?: unknown): Promise<T>;
  runner(name: string): Promise<ScriptedRunner>;
  /** As if machines had told, or kept silent. */
  set(runnerId: string, columns: Readonly<Record<string, unknown>>): Promise<void>;
  environment(name: string, more?: object): Promise<string>;
  /** A connection of the project's repository. */
  connect(provider: string): Promise<string>;
  /** Another member of the team. */
  join(role: 'admin' | 'developer' | 'viewer'): Promise<Person>;
  /** A tab signed in as the owner, or as somebody else. */
  open(path: string, as?: Person, options?: BrowserContextOptions): Promise<Tab>;
}

/** Somebody who is in the first team alone. */
export const outsider = async ({ server }: Pick<Console, 'server'>): Promise<Person> =>
  await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });

export async function startFleet(console_: Console, name = 'builders'): Promise<Fleet> {
  const { server } = console_;
  const owner = await outsider(console_);
  await verify(server, owner.userId);
  const call = async <T>(route: string, body: unknown, as: string): Promise<T> => {
    const answer = await server.call(route, { as, body });
    if (answer.status >= 300) throw new Error(`${route} answered ${answer.status}: ${answer.text}`);
    return answer.body as T;
  };
  const ok = async <T = Record<string, unknown>>(route: string, body?: unknown): Promise<T> =>
    await call<T>(route, body, owner.token);
  const team = await ok<{ id: string }>('POST /teams', { name });
  const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
  const regionId = regions.find(({ operator }) => operator === 'customer')?.id;
  await call(`PUT /admin/teams/${team.id}/region`, { regionId }, server.first.staffApiKey);
  const project = await ok<{ id: string }>('POST /projects', { name: 'shop', teamId: team.id });
  return {
    teamId: team.id,
    projectId: project.id,
    owner,
    ok,
    runner: async (runnerName) => {
      const { token } = await ok<{ token: string }>(`POST /teams/${team.id}/runners/enroll-tokens`, {});
      return await scriptedRunner(server.baseUrl, token, runnerName);
    },
    set: async (runnerId, columns) => {
      await setColumns(server.db.sql, 'runners', { id: runnerId, ...columns });
    },
    environment: async (environmentName, more = {}) =>
      (
        await ok<{ id: string }>(`POST /projects/${project.id}/environments`, {
          name: environmentName,
          repository: 'https://git.example.com/acme/shop',
          ...more,
        })
      ).id,
    connect: async (provider) =>
      (
        await ok<{ id: string }>(`POST /teams/${team.id}/ci/connections`, {
          provider,
          repositoryHost: 'github.com',
          repositoryPath: 'acme/shop',
          projectId: project.id,
        })
      ).id,
    join: async (role) => await join(server, owner.token, { teamId: team.id, role }),
    open: async (path, as = owner, options = {}) => await console_.openAs(path, as, options),
  };
}

/**
 * Has the page look again now instead of in some seconds: it does so when the machine says that it is online
 * again.
 */
export const LOOK = 'window.dispatchEvent(new Event("online"))';

/** The tab goes out of view and comes back, which ends its streams and begins others. */
export async function lookAway(page: Page): Promise<void> {
  for (const state of ['hidden', 'visible'])
    await page.evaluate(
      `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true }), document.dispatchEvent(new Event('visibilitychange'))`,
    );
}
