import type { Build } from '@svc/sdk';
import { teamHref } from '../../place.ts';
import { Standing } from '../../fact.tsx';
import { STATE } from './words.ts';

export const State = ({ build: { state } }: { readonly build: Pick<Build, 'state'> }) => (
  <Standing of={STATE[state] ?? [state, 'quiet']} />
);

/** Says which machine does the build. */
export function Via({ build: { runnerName, teamId, runnerId } }: { readonly build: Build }) {
  if (runnerName === undefined) return null;
  return (
    <a class="via" href={teamHref(teamId, 'runners', ...(runnerId === undefined ? [] : [runnerId]))}>
      via {runnerName}
    </a>
  );
}

export const Image = ({ of: { image, digest } }: { readonly of: Pick<Build, 'image' | 'digest'> }) => (
  <code>
    {image}
    {digest !== undefined && `@${digest}`}
  </code>
);
