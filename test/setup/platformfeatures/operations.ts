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

/**
 * Returns the operations. `current` is asked at each call, because servers start after the tests are
 * described.
 */
export function operationsOf(current: () => TestServer) {
  const asStaff = (): { as: string } => ({ as: current().first.staffApiKey });
  const patch = async (key: string, body: unknown, options: PatchOptions = {}): Promise<TestResponse> =>
    await current().call(`PATCH /admin/platform-features/${key}${options.query ?? ''}`, {
      ...asStaff(),
      body,
      ...options,
    });
  /** The change must succeed. */
  const set = async (key: string, state: string, reason = REASON): Promise<TestResponse> => {
    const answer = await patch(key, { state, reason });
    expect(answer.status, answer.text).toBe(200);
    return answer;
  };
  return {
    patch,
    set,
    get: async (key: string) =>
      (await current().call(`GET /admin/platform-features/${key}`, asStaff())).body as unknown as Feature,
    history: async (key: string, query = '') => {
      const { body } = await current().call(`GET /admin/platform-features/${key}/history${query}`, asStaff());
      return body['changes'] as Array<Record<string, unknown>>;
    },
    resolved: async (options: CallOptions = {}) =>
      await current().call('GET /platform-features/resolved', options),
    /** Counts the rows that a change has written. */
    counts: async (): Promise<Record<string, number>> => {
      const [row] = await current().db.sql<Array<Record<string, number>>>`
        select (select count(*)::int from platform_feature_changes) as changes,
          (select revision from platform_feature_revision) as revision,
          (select coalesce(sum(revision), 0)::int from platform_feature_states) as moves,
          (select count(*)::int from audit_entries where action = 'platform_feature.set_state') as entries`;
      return row ?? {};
    },
    /** Every switch is set to its default. */
    reset: async (): Promise<void> => {
      for (const { key, default: state, ...definition } of MANIFEST) {
        const decided = 'environment' in definition && definition.environment.decides === 'always';
        if (!decided) await set(key, state);
      }
    },
  };
}
