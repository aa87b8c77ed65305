/** Builds of an environment, and one of them with its phases and its output. */
import type { ComponentChildren } from 'preact';
import { Button } from '../../button.tsx';
import { PlacePage } from '../../place-page.tsx';
import { NoEnvironment, PlacePickers } from '../../place-pickers.tsx';
import type { Place } from '../../place.ts';
import { follow, pageHref, param } from '../../router.ts';
import type { SignedIn } from '../../session.ts';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { Dialogs } from './dialogs.tsx';
import { ask, dialog } from './store.ts';

export function BuildsPage({ session }: { readonly session: SignedIn }) {
  return (
    <PlacePage title="Builds">
      {(place, stale) => {
        const [env, build] = [param('env'), param('build')];
        const { environment } = place;
        if (build !== undefined && environment !== undefined && environment.id === (env ?? environment.id))
          return <BuildView key={build} environment={environment} buildId={build} session={session} />;
        return <Builds place={place} stale={stale} />;
      }}
    </PlacePage>
  );
}

function Builds({ place, stale }: { readonly place: Place; readonly stale: ComponentChildren }) {
  const { environment } = place;
  return (
    <div class="builds">
      <h1>Builds</h1>
      <div class="bar">
        <PlacePickers place={place} />
        {environment !== undefined && (
          <div class="bar-buttons">
            <a class="button" href={pageHref('timeline', { env: environment.id })} onClick={follow}>
              Timeline
            </a>
            <Button onClick={() => ask({ kind: 'unlock', environment })}>Unlock</Button>
            <Button text="Build now" look="primary" onClick={() => ask({ kind: 'build', environment })} />
          </div>
        )}
      </div>
      {stale}
      {environment === undefined ? (
        <NoEnvironment place={place} />
      ) : (
        <BuildList key={environment.id} environment={environment} />
      )}
      {dialog.value !== undefined && <Dialogs dialog={dialog.value} />}
    </div>
  );
}
