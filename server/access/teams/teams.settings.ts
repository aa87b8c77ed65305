/** The setting says how many teams an account owns. */
import { limit } from '@svc/proto/process/settings.ts';

export const settings = {
  teamsMax: limit('LIMIT_TEAMS', 50, 'Teams that one account owns.'),
};
