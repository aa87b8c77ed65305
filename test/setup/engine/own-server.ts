/**
 * A server of a test file's own, from its first test to its last, and the calls that tests of connect and
 * engine make to it.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { firstSession } from '../people.ts';
import { scriptedRunner, type ScriptedRunner } from '../builds/scripted-runner.ts';
import { startTestServer, type TestResponse, type TestServer, type TestServerOptions } from '../server.ts';

export interface OwnServer {
  /** Its fields are there once the hooks before the tests have run. */
  readonly server: TestServer;
  /** Calls are made with this one: the first key, or with `inPerson` a session of its account. */
  key(): string;
  /** A call with it, unless `as` is another one. */
  call(route: string, body?: unknown, as?: string): Promise<TestResponse>;
  /** The body of an answer that must be no refusal. */
  ok<T = Record<string, unknown>>(route: string, body?: unknown, as?: string): Promise<T>;
  /** The id of what the call makes. */
  made(route: string, body: unknown, as?: string): Promise<string>;
  /** The id of a new connection of the first team to a repository at GitHub, unless `more` says otherwise. */
  connection(repositoryPath: string, more?: object): Promise<string>;
  /** A client with the same, unless `token` is another one; it tries a call once. */
  sdk(token?: string): SvcSDK;
  /** Moves the team to the region of this operator. */
  operate(teamId: string, operator: 'customer' | 'service'): Promise<void>;
  /** A new team that executes its work on runners of its own. */
  customer(name: string): Promise<string>;
  /** A new environment in a new project of the team, whose repository holds nothing. */
  environment(teamId: string, more?: object): Promise<string>;
  /** Enrolls a runner that the test speaks for. */
  runner(teamId: string, as?: string, name?: string): Promise<ScriptedRunner>;
}

export function ownServer({
  inPerson = false,
  ...options
}: TestServerOptions & { readonly inPerson?: boolean } = {}): OwnServer {
  const server = {} as TestServer;
  let own = '';
  beforeAll(async () => {
    Object.assign(server, await startTestServer(options));
    own = inPerson ? await firstSession(server) : server.first.apiKey;
  }, 120_000);
  afterAll(async () => await server.stop?.());
  const call: OwnServer['call'] = async (route, body, as = own) => await server.call(route, { as, body });
  const ok: OwnServer['ok'] = async <T>(route: string, body?: unknown, as?: string) => {
    const answer = await call(route, body, as);
    expect(answer.status, `${route}: ${answer.text}`).toBeLessThan(300);
    return answer.body as T;
  };
  const made: OwnServer['made'] = async (route, body, as) =>
    (await ok<{ readonly id: string }>(route, body, as)).id;
  const operate = async (teamId: string, operator: 'customer' | 'service'): Promise<void> => {
    const { regions } = await ok<{ regions: Array<{ id: string; operator: string }> }>('GET /regions');
    const regionId = regions.find((region) => region.operator === operator)?.id;
    await ok(`PUT /admin/teams/${teamId}/region`, { regionId }, server.first.staffApiKey);
  };
  return {
    server,
    key: () => own,
    call,
    ok,
    made,
    connection: async (repositoryPath, more) => {
      const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath, ...more };
      return await made(`POST /teams/${server.first.teamId}/ci/connections`, body);
    },
    sdk: (token = own) => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 }),
    operate,
    customer: async (name) => {
      const teamId = await made('POST /teams', { name });
      await operate(teamId, 'customer');
      return teamId;
    },
    environment: async (teamId, more) => {
      const projectId = await made('POST /projects', { name: 'web', teamId });
      const repository = 'https://git.example.com/acme/web';
      return await made(`POST /projects/${projectId}/environments`, {
        name: 'production',
        repository,
        ...more,
      });
    },
    runner: async (teamId, as, name) => {
      const { token } = await ok<{ token: string }>(`POST /teams/${teamId}/runners/enroll-tokens`, {}, as);
      return await scriptedRunner(server.baseUrl, token, name);
    },
  };
}
