/** The name of an app on the machine that it is deployed to. */
import { createHash } from 'node:crypto';

/**
 * Digits of the team's mark, 80 bits: nobody finds an app of his own that gets the mark of another team's.
 */
const MARK_DIGITS = 20;
/** Runners take names of so many characters, and a label of a host name may hold as many. */
const APP_MAX = 63;

/**
 * A runner of the service's pool has apps of many teams: there each goes by a name that no other team's app
 * can have.
 */
export function appOnHost(app: string, teamId: string, inServicePool: boolean): string {
  if (!inServicePool) return app;
  const mark = createHash('sha256').update(`${teamId}/${app}`).digest('hex').slice(0, MARK_DIGITS);
  return `${app.slice(0, APP_MAX - MARK_DIGITS - 1)}-${mark}`;
}
