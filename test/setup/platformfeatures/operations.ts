/** The operations of platform features as tests use them, by a key of staff. */
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { expect } from 'vitest';
import type { CallOptions, TestResponse, TestServer } from '../server.ts';

export const REASON = 'webhook storm, see INC-12';

export interface Feature {
  readonly key: string;
  readonly state: string;
  readonly enabled: boolean;
  readonly reason: string;
  readonly toggleable: boolean;
  readonly environmentVariable?: string;
  readonly revision: number;
  readonly lastChange?: Record<string, unknown>;
}

export type PatchOptions = CallOptions & { readonly query?: string };

export interface Operations {
  patch(key: string, body: unknown, options?: PatchOptions): Promise<TestResponse>;
  /** Must succeed. */
  set(key: string, state: string, reason?: string): Promise<TestResponse>;
  get(key: string): Promise<Feature>;
  history(key: string, query?: string): Promise<Array<Record<string, unknown>>>;
  resolved(options?: CallOptions): Promise<TestResponse>;
  /** Counts the rows that a change has written. */
  counts(): Promise<Record<string, number>>;
  /** Every switch to its default. */
  reset(): Promise<void>;
}

/**
 * Returns the operations. `current` is asked at each call, because servers start after the tests are
 * described.
 */
export function operationsOf(current: () => TestServer): Operations {
  const asStaff = (): { as: string } => ({ as: current().first.staffApiKey });
  const operations: Operations = {
    patch: async (key, body, options = {}) =>
      await current().call(`PATCH /admin/platform-features/${key}${options.query ?? ''}`, {
        ...asStaff(),
        body,
        ...options,
      }),
    set: async (key, state, reason = REASON) => {
      const answer = await operations.patch(key, { state, reason });
      expect(answer.status, answer.text).toBe(200);
      return answer;
    },
    get: async (key) =>
      (await current().call(`GET /admin/platform-features/${key}`, asStaff())).body as unknown as Feature,
    history: async (key, query = '') => {
      const { body } = await current().call(`GET /admin/platform-features/${key}/history${query}`, asStaff());
      return body['changes'] as Array<Record<string, unknown>>;
    },
    resolved: async (options = {}) => await current().call('GET /platform-features/resolved', options),
    counts: async () => {
      const [row] = await current().db.sql<Array<Record<string, number>>>`
        select (select count(*)::int from platform_feature_changes) as changes,
          (select revision from platform_feature_revision) as revision,
          (select coalesce(sum(revision), 0)::int from platform_feature_states) as moves,
          (select count(*)::int from audit_entries where action = 'platform_feature.set_state') as entries`;
      return row ?? {};
    },
    reset: async () => {
      for (const { key, default: state, ...definition } of MANIFEST) {
        const decided = 'environment' in definition && definition.environment.decides === 'always';
        if (!decided) await operations.set(key, state);
      }
    },
  };
  return operations;
}
