/** The setting says how many environments a project has. */
import { limit } from '@svc/proto/process/settings.ts';

export const settings = {
  environmentsPerProjectMax: limit('LIMIT_ENVIRONMENTS_PER_PROJECT', 200, 'Environments of one project.'),
};
