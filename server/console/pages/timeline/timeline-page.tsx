/** This page shows the timeline of the environment that the address names. */
import type { PageProps } from '../../page.ts';
import { projectHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { EnvironmentTimeline } from './environment-timeline.tsx';

export function TimelinePage({ place: { environment } }: PageProps) {
  if (environment === undefined) return null;
  return (
    <div class="timeline">
      <h1>Timeline</h1>
      <div class="bar">
        <a
          class="button"
          href={projectHref(environment.projectId, environment.id, 'builds')}
          onClick={follow}
        >
          Builds
        </a>
      </div>
      <EnvironmentTimeline key={environment.id} environment={environment} />
    </div>
  );
}
