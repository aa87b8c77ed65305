/**
 * When a credential was last used, written in batches: at most once a minute for each credential, one
 * statement for all. Owner of the pending marks is this closure. A mark that is lost with the process costs a
 * minute of precision.
 */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';

const WRITE_EVERY_MS = 60_000;

export interface Touches {
  used(kind: 'api_key' | 'session', id: string, storedAt: Date | undefined): void;
  flush(): Promise<void>;
}

export function createTouches(db: Database, clock: Clock): Touches {
  const pending = { api_key: new Map<string, Date>(), session: new Map<string, Date>() };

  const drain = (kind: 'api_key' | 'session'): { ids: string[]; times: string[] } => {
    const marks = [...pending[kind]];
    pending[kind].clear();
    return { ids: marks.map(([id]) => id), times: marks.map(([, at]) => at.toISOString()) };
  };

  return {
    used: (kind, id, storedAt) => {
      const now = clock.now();
      if (storedAt === undefined || now.getTime() - storedAt.getTime() >= WRITE_EVERY_MS)
        pending[kind].set(id, now);
    },
    flush: async () => {
      const keys = drain('api_key');
      const sessions = drain('session');
      if (keys.ids.length > 0) {
        await db.sql`
          update api_keys k set last_used_at = v.at
          from unnest(${keys.ids}::text[], ${keys.times}::timestamptz[]) as v(id, at)
          where k.id = v.id and (k.last_used_at is null or k.last_used_at < v.at)`;
      }
      if (sessions.ids.length > 0) {
        await db.sql`
          update sessions s set last_seen_at = v.at
          from unnest(${sessions.ids}::text[], ${sessions.times}::timestamptz[]) as v(id, at)
          where s.id = v.id and s.last_seen_at < v.at`;
      }
    },
  };
}
