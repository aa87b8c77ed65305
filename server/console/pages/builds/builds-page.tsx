/** Builds of an environment, and one of them with its phases and its output. */
import { Button } from '../../button.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Missing } from '../../missing.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import { usePlace } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow, param } from '../../router.ts';
import type { SignedIn } from '../../session.ts';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { Dialogs } from './dialogs.tsx';
import { ask, dialog } from './store.ts';

export function BuildsPage({ session }: { readonly session: SignedIn }) {
  const place = usePlace();
  const [env, build] = [param('env'), param('build')];
  const known = place.data.value;
  if (known === undefined) {
    return (
      <>
        <h1>Builds</h1>
        <Unread of={place} what="your projects" />
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
            <Button onClick={() => ask({ kind: 'unlock', environment })}>Unlock</Button>
            <Button text="Build now" look="primary" onClick={() => ask({ kind: 'build', environment })} />
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
