/**
 * A team's work is held back by limits below those of the installation, and by gates of spending. The engine
 * reads both where work is submitted and runners are enrolled; money, which stands above, writes them.
 */
import type { SettingsOf } from '@svc/proto/process/settings.ts';
import { declareFeature } from '../../kit/feature.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { settings } from './limits.settings.ts';

export type TeamLimits = SettingsOf<typeof settings>;

export const limitsFeature = declareFeature({
  name: 'limits',
  on: { teams: teamsFeature },
  settings,
  reads: ['spend_gates'],
  writes: ['team_limits', 'spend_gates'],
  start: (_system, _on, limits) => ({ limits, services: [] }),
});
