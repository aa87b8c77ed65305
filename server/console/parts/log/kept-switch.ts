/** A switch that this browser keeps, such as whether lines are wrapped. */
import { signal, type Signal } from '@preact/signals';

export function keptSwitch(key: string): Signal<boolean> {
  const now = signal(false);
  try {
    now.value = window.localStorage.getItem(key) === 'on';
  } catch {
    // A browser that keeps nothing begins with what is off.
  }
  now.subscribe((on) => {
    try {
      if (on) window.localStorage.setItem(key, 'on');
      else window.localStorage.removeItem(key);
    } catch {
      // It holds until the tab is closed.
    }
  });
  return now;
}
