/** This view shows one feature whose effective state changes, before and after the change. */
import type { AffectedFeature } from '@svc/sdk';
import { outcome } from './words.ts';

export function Affected({ feature }: { readonly feature: AffectedFeature }) {
  const { key, enabledBefore, reasonBefore, enabledAfter, reasonAfter, blockedBy } = feature;
  const before = enabledBefore ? 'on' : reasonBefore === 'disabled' ? 'off' : 'blocked';
  return (
    <li>
      <code>{key}</code>
      <span class="affected-change">
        <span class="muted">{before}</span> <Arrow /> {outcome(enabledAfter, reasonAfter, blockedBy)}
      </span>
    </li>
  );
}

export const Arrow = () => (
  <>
    <span aria-hidden="true">→</span>
    <span class="visually-hidden">to</span>
  </>
);
