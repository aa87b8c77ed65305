/** This page shows the timeline of the environment that the address names. */
import { PlacePage } from '../../place-page.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import { follow, pageHref } from '../../router.ts';
import { EnvironmentTimeline } from './environment-timeline.tsx';

export function TimelinePage() {
  return (
    <PlacePage title="Timeline">
      {(place, stale) => (
        <div class="timeline">
          <h1>Timeline</h1>
          <div class="bar">
            <PlacePickers place={place} />
            {place.environment !== undefined && (
              <a class="button" href={pageHref('builds', { env: place.environment.id })} onClick={follow}>
                Builds
              </a>
            )}
          </div>
          {stale}
          {place.environment === undefined ? (
            <NoEnvironment place={place} />
          ) : (
            <EnvironmentTimeline key={place.environment.id} environment={place.environment} />
          )}
        </div>
      )}
    </PlacePage>
  );
}
