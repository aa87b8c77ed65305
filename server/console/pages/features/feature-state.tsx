/** Says whether a feature can be used, and if not, why. Sign, colour and words say the same. */
import type { PlatformFeature } from '@svc/sdk';
import { Icon } from '../../icons.tsx';
import { consider } from './change.ts';
import { RowLinks } from './row-links.tsx';
import { lockReason, position, effectiveState } from './words.ts';

export const whyId = (key: string): string => `why-${key}`;

export function FeatureState({ feature }: { readonly feature: PlatformFeature }) {
  const state = effectiveState(feature);
  const lock = lockReason(feature);
  return (
    <div class={`state state-${state}`}>
      <div id={whyId(feature.key)}>
        <p class="state-line">
          <Icon of={state} />
          <span>{state === 'blocked' ? <Blockers feature={feature} /> : state === 'on' ? 'On' : 'Off'}</span>
        </p>
        {lock !== undefined && (
          <p class="state-more">
            <Icon of="lock" />
            <span>{lock}</span>
          </p>
        )}
      </div>
      {state === 'blocked' && <RootCauses feature={feature} />}
      {state === 'blocked' && lock === undefined && <OwnSwitch feature={feature} />}
    </div>
  );
}

function Blockers({ feature: { blockedBy, reason } }: { readonly feature: PlatformFeature }) {
  if (reason === 'cycle_detected') {
    return (
      <>
        Depends on itself through <RowLinks keys={blockedBy} />
      </>
    );
  }
  return (
    <>
      Blocked by <RowLinks keys={blockedBy} />
    </>
  );
}

/** Says where the chain ends, when that is not the direct blocker. */
function RootCauses({ feature: { rootCauses, blockedBy } }: { readonly feature: PlatformFeature }) {
  const further = rootCauses.filter((key) => !blockedBy.includes(key));
  if (further.length === 0) return null;
  return (
    <p class="state-more">
      because of <RowLinks keys={further} />
    </p>
  );
}

/** So that a feature does not come back by itself when what blocks it does. */
function OwnSwitch({ feature }: { readonly feature: PlatformFeature }) {
  return (
    <button
      type="button"
      class="button-inline"
      aria-label={`Turn ${position(feature.state === 'enabled' ? 'disabled' : 'enabled')} anyway: ${feature.key}`}
      title="So that it does not come on by itself when what blocks it does"
      onClick={() => consider(feature)}
    >
      Turn off anyway
    </button>
  );
}
