/** Short forms of `call` for tests that are about who may call what: caller, route and body, in this order. */
import type { TestResponse, TestServer } from './server.ts';

/** `as` is an API key or session token; undefined: nobody. */
type Call<T> = (as: string | undefined, route: string, body?: unknown) => Promise<T>;

export interface Calls {
  readonly call: Call<TestResponse>;
  readonly statusOf: Call<number>;
  /** `error.code` of a refusal. */
  readonly codeOf: Call<string | undefined>;
  /** Both, as `409 limit_reached`. */
  readonly outcomeOf: Call<string>;
}

/** `current` is asked at each call, because servers start after the tests are described. */
export function callsOf(current: () => TestServer): Calls {
  const call: Calls['call'] = async (as, route, body) => await current().call(route, { as, body });
  return {
    call,
    statusOf: async (...of) => (await call(...of)).status,
    codeOf: async (...of) => (await call(...of)).code,
    outcomeOf: async (...of) => {
      const { status, code } = await call(...of);
      return `${status} ${code}`;
    },
  };
}
