/** Platform features for tests of dispatch: a switch for runners, moved by hand. */
import type { FeatureGates } from '../../../server/engine/work/features.ts';

export interface FakeGates extends FeatureGates {
  runners(state: 'open' | 'hidden'): void;
  /** A change of another switch, which closes no gate. */
  touch(): void;
  readonly listeners: number;
}

export function fakeGates(): FakeGates {
  const listeners = new Set<() => void>();
  let state: 'open' | 'hidden' = 'open';
  let revision = 0;
  const change = (): void => {
    revision += 1;
    for (const listener of listeners) listener();
  };
  return {
    gate: { state: (key) => (key === 'host.runners' ? state : 'open') },
    revision: () => revision,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    runners: (next) => {
      state = next;
      change();
    },
    touch: change,
    get listeners() {
      return listeners.size;
    },
  };
}
