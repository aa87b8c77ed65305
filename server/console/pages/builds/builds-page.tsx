/** Builds of an environment, and one of them with its phases and its output. */
import { useEffect } from 'preact/hooks';
import { StaleNotice } from '../../stale-notice.tsx';
import { Missing } from '../../missing.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import { readPlace } from '../../place.ts';
import { Failed, Reading } from '../../reading.tsx';
import { follow, param } from '../../router.ts';
import type { SignedIn } from '../../session.ts';
import { useLastGood } from '../../use-last-good.ts';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { Dialogs } from './dialogs.tsx';
import { ask, dialog } from './store.ts';

export function BuildsPage({ session }: { readonly session: SignedIn }) {
  const place = useLastGood(readPlace);
  const [env, project, build] = [param('env'), param('project'), param('build')];
  useEffect(() => {
    if (place.data.peek() !== undefined) void place.load();
  }, [env, project]);
  const known = place.data.value;
  const unknown = place.unknown.value;
  if (known === undefined) {
    return (
      <>
        <h1>Builds</h1>
        {unknown === undefined ? (
          <Reading what="your projects" />
        ) : (
          <Failed what="Your projects" why={unknown.why} again={() => void place.load()} />
        )}
      </>
    );
  }
  if (known.missing) return <Missing />;
  const { environment } = known;
  if (build !== undefined && environment !== undefined && environment.id === (env ?? environment.id))
    return <BuildView key={build} environment={environment} buildId={build} session={session} />;
  return (
    <div class="builds">
      <h1>Builds</h1>
      <div class="bar">
        <PlacePickers place={known} />
        {environment !== undefined && (
          <div class="bar-buttons">
            <a
              class="button"
              href={`/console/timeline?env=${encodeURIComponent(environment.id)}`}
              onClick={follow}
            >
              Timeline
            </a>
            <button class="button" type="button" onClick={() => ask({ kind: 'unlock', environment })}>
              Unlock
            </button>
            <button
              class="button button-primary"
              type="button"
              onClick={() => ask({ kind: 'build', environment })}
            >
              Build now
            </button>
          </div>
        )}
      </div>
      <StaleNotice of={place} />
      {environment === undefined ? (
        <NoEnvironment place={known} />
      ) : (
        <BuildList key={environment.id} environment={environment} />
      )}
      {dialog.value !== undefined && <Dialogs dialog={dialog.value} />}
    </div>
  );
}
