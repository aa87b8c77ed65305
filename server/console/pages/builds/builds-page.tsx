/** Builds of an environment, and one of them with its phases and its output. */
import { Button } from '../../button.tsx';
import type { Environment } from '@svc/sdk';
import type { PageProps } from '../../page.ts';
import { projectHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { BuildList } from './build-list.tsx';
import { BuildView } from './build-view.tsx';
import { useDialogs } from './dialogs.tsx';

export function BuildsPage({ session, place: { environment, rest } }: PageProps) {
  if (environment === undefined) return null;
  const [, build] = rest;
  return build === undefined ? (
    <Builds environment={environment} />
  ) : (
    <BuildView key={build} environment={environment} buildId={build} session={session} />
  );
}

function Builds({ environment }: { readonly environment: Environment }) {
  const { ask, asked } = useDialogs();
  return (
    <div class="builds">
      <h1>Builds</h1>
      <div class="bar">
        <div class="bar-buttons">
          <a
            class="button"
            href={projectHref(environment.projectId, environment.id, 'timeline')}
            onClick={follow}
          >
            Timeline
          </a>
          <Button onClick={() => ask({ kind: 'unlock', environment })}>Unlock</Button>
          <Button text="Build now" look="primary" onClick={() => ask({ kind: 'build', environment })} />
        </div>
      </div>
      <BuildList key={environment.id} environment={environment} />
      {asked}
    </div>
  );
}
