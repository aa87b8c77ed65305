/** This page shows the timeline of the environment that the address names. */
import { StaleNotice } from '../../stale-notice.tsx';
import { Missing } from '../../missing.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import { usePlace } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { EnvironmentTimeline } from './environment-timeline.tsx';

export function TimelinePage() {
  const place = usePlace();
  const known = place.data.value;
  if (known?.missing === true) return <Missing />;
  return (
    <div class="timeline">
      <h1>Timeline</h1>
      {known === undefined ? (
        <Unread of={place} what="your projects" />
      ) : (
        <>
          <div class="bar">
            <PlacePickers place={known} />
            {known.environment !== undefined && (
              <a
                class="button"
                href={`/console/builds?env=${encodeURIComponent(known.environment.id)}`}
                onClick={follow}
              >
                Builds
              </a>
            )}
          </div>
          <StaleNotice of={place} />
          {known.environment === undefined ? (
            <NoEnvironment place={known} />
          ) : (
            <EnvironmentTimeline key={known.environment.id} environment={known.environment} />
          )}
        </>
      )}
    </div>
  );
}
