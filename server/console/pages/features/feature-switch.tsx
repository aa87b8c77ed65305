/**
 * This view shows a feature's own switch. Its name is the key and never changes, and it moves only when the
 * server says so. A switch that cannot be moved keeps its place in the order of the keyboard and says why.
 */
import type { PlatformFeature } from '@svc/sdk';
import { announce } from '../../announce.ts';
import { consider } from './change.ts';
import { whyId } from './feature-state.tsx';
import { isBlocked, lockReason, outcome, position } from './words.ts';

export function FeatureSwitch({ feature }: { readonly feature: PlatformFeature }) {
  const { key, state } = feature;
  const stuck = stuckBecause(feature);
  return (
    <>
      <button
        type="button"
        role="switch"
        class="switch"
        aria-checked={state === 'enabled'}
        aria-labelledby={`key-${key}`}
        {...(stuck !== undefined && { 'aria-disabled': 'true', 'aria-describedby': whyId(key) })}
        onClick={() => {
          if (stuck === undefined) consider(feature);
          else announce(stuck);
        }}
      >
        <span class="switch-track" aria-hidden="true">
          <span class="switch-thumb" />
        </span>
        <span class="switch-word" aria-hidden="true">
          {position(state)}
        </span>
      </button>
    </>
  );
}

function stuckBecause(feature: PlatformFeature): string | undefined {
  const lock = lockReason(feature);
  if (lock !== undefined) return `${feature.key}: ${lock}.`;
  if (!isBlocked(feature)) return undefined;
  return `${feature.key} is ${outcome(feature.enabled, feature.reason, feature.blockedBy)}: moving its switch changes nothing now.`;
}
