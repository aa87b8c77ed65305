/**
 * A server for the tests of one block, and short forms of its `call` for tests that are about who may call
 * what: caller, route and body, in this order.
 */
import { afterAll, beforeAll } from 'vitest';
import { startTestServer, type TestResponse, type TestServer, type TestServerOptions } from './server.ts';

/** `as` is an API key or session token; undefined: nobody. */
type Call<T> = (as: string | undefined, route: string, body?: unknown) => Promise<T>;

interface UsedServer {
  /** It has its fields once the tests run. */
  readonly server: TestServer;
  readonly call: Call<TestResponse>;
  readonly statusOf: Call<number>;
  /** `error.code` of a refusal. */
  readonly codeOf: Call<string | undefined>;
  /** Both, as `409 limit_reached`. */
  readonly outcomeOf: Call<string>;
}

export function useServer(options: TestServerOptions = {}): UsedServer {
  const server = {} as TestServer;
  beforeAll(async () => void Object.assign(server, await startTestServer(options)));
  afterAll(async () => await (server as Partial<TestServer>).stop?.());
  const call: UsedServer['call'] = async (as, route, body) => await server.call(route, { as, body });
  return {
    server,
    call,
    statusOf: async (...of) => (await call(...of)).status,
    codeOf: async (...of) => (await call(...of)).code,
    outcomeOf: async (...of) => {
      const { status, code } = await call(...of);
      return `${status} ${code}`;
    },
  };
}

/** It starts one more server for the work, and stops it in the end. */
export async function withServer(
  options: TestServerOptions,
  work: (server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startTestServer(options);
  try {
    await work(server);
  } finally {
    await server.stop();
  }
}
