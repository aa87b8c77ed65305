import type { Build } from '@svc/sdk';
import { STATE } from './words.ts';

/** The state is a word beside a mark. */
export function State({ build: { state } }: { readonly build: Pick<Build, 'state'> }) {
  const [word, tone] = STATE[state] ?? [state, 'quiet'];
  return (
    <span class={`build-state tone-${tone}`}>
      <span class="dot" aria-hidden="true" />
      <strong>{word}</strong>
    </span>
  );
}

/** Says which machine does the build. */
export function Via({ build: { runnerName, teamId, runnerId } }: { readonly build: Build }) {
  if (runnerName === undefined) return null;
  return (
    <a
      class="via"
      href={`/console/runners?team=${encodeURIComponent(teamId)}${runnerId === undefined ? '' : `&runner=${encodeURIComponent(runnerId)}`}`}
    >
      via {runnerName}
    </a>
  );
}
