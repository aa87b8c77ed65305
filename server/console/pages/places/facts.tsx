/** These views say on a card and on a page alike what runs and what was built last. */
import type { Build, RunningImage } from '@svc/sdk';
import { projectHref, type Place } from '../../place.ts';
import { follow } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { State } from '../builds/build-state.tsx';
import { shortCommit } from '../builds/words.ts';

/** A version where there is one, or else the commit or the digest. */
export function Runs({ of }: { readonly of: RunningImage | undefined }) {
  if (of === undefined) return <span class="muted">Nothing that is known</span>;
  const { version, commit, digest = '' } = of.image;
  if (version !== undefined) return <strong class="wraps">{version}</strong>;
  const [text, whole] = commit === undefined ? [digest.slice(0, 19), digest] : [shortCommit(commit), commit];
  return <code title={whole}>{text}</code>;
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
