/** Light, dark, or as the system has it: kept in this browser. */
import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'svc.theme';

function kept(): Theme {
  try {
    return THEMES.find((each) => each === window.localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

export const theme = signal<Theme>(kept());

theme.subscribe((now) => {
  document.documentElement.dataset['theme'] = now;
  try {
    if (now === 'system') window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, now);
  } catch {
    // It holds until the tab is closed.
  }
});
