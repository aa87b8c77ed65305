/** This page shows the timeline of the environment that the address names. */
import { useEffect } from 'preact/hooks';
import { StaleNotice } from '../../stale-notice.tsx';
import { Missing } from '../../missing.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import { readPlace } from '../../place.ts';
import { Failed, Reading } from '../../reading.tsx';
import { follow, param } from '../../router.ts';
import { useLastGood } from '../../use-last-good.ts';
import { EnvironmentTimeline } from './environment-timeline.tsx';

export function TimelinePage() {
  const place = useLastGood(readPlace);
  const [env, project] = [param('env'), param('project')];
  useEffect(() => {
    if (place.data.peek() !== undefined) void place.load();
  }, [env, project]);
  const known = place.data.value;
  if (known?.missing === true) return <Missing />;
  const unknown = place.unknown.value;
  return (
    <div class="timeline">
      <h1>Timeline</h1>
      {known === undefined ? (
        unknown === undefined ? (
          <Reading what="your projects" />
        ) : (
          <Failed what="Your projects" why={unknown.why} again={() => void place.load()} />
        )
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
