/** These views say on a card and on a page alike what runs and what was built last. */
import type { AppState, Build, CiRun, HostedApp, RunningImage } from '@svc/sdk';
import { Standing, type StateWord } from '../../fact.tsx';
import { projectHref, teamHref, type Place } from '../../place.ts';
import { follow } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { State } from '../builds/build-state.tsx';
import { shortCommit } from '../builds/words.ts';
import { statusOfRun } from '../timeline/words.ts';

/** A version where there is one, or else the commit or the digest. */
export function Runs({ of }: { readonly of: RunningImage | undefined }) {
  if (of === undefined) return <span class="muted">Nothing that is known</span>;
  const { version, commit, digest = '' } = of.image;
  if (version !== undefined) return <strong class="wraps">{version}</strong>;
  const [text, whole] = commit === undefined ? [digest.slice(0, 19), digest] : [shortCommit(commit), commit];
  return <code title={whole}>{text}</code>;
}

const APP_WORDS: Readonly<Record<AppState, StateWord>> = {
  running: ['Running', 'good'],
  ended: ['Ended, is started again', 'bad'],
  paused: ['Held on its machine', 'warn'],
  absent: ['Not on its machine', 'bad'],
};

/** Says how the app is on its machine, as its runner saw it last. */
export function App({ of }: { readonly of: HostedApp | undefined }) {
  const { observed, holdsData } = of ?? {};
  if (observed === undefined) return <span class="muted">Not known yet</span>;
  return (
    <>
      <Standing of={APP_WORDS[observed.state]} />
      {holdsData === true && <span class="muted"> its data lies there</span>}
    </>
  );
}

interface LastBuildProps {
  readonly of: Build | null | undefined;
  readonly projectId: NonNullable<Place['project']>['id'];
}

export function LastBuild({ of, projectId }: LastBuildProps) {
  if (of === null) return <span class="muted">None lately</span>;
  if (of === undefined) return <span class="muted">None yet</span>;
  return (
    <span class="last-build">
      <a href={projectHref(projectId, of.environmentId, 'builds', of.id)} onClick={follow}>
        Build {of.number}
      </a>
      <State build={of} />
      <Ago at={of.createdAt} />
    </span>
  );
}

export function LastCiRun({ of }: { readonly of: CiRun | undefined }) {
  if (of === undefined) return <span class="muted">None lately</span>;
  return (
    <span class="last-build">
      <a
        class="brief"
        title={of.pipelineName}
        href={teamHref(of.teamId, 'ci', 'runs', of.id)}
        onClick={follow}
      >
        {of.pipelineName}
      </a>
      <Standing of={statusOfRun(of)} />
      <Ago at={of.createdAt} />
    </span>
  );
}
