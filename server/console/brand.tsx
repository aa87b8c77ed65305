/** Shows the mark and the name of the console, which lead to its beginning. */
import { follow } from './router.ts';

export const NAME = 'svc console';

export const Brand = () => (
  <a class="brand" href="/console" onClick={follow}>
    <svg class="mark" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" focusable="false">
      <rect class="mark-ground" width="32" height="32" rx="8" />
      <rect class="mark-track" x="6" y="10" width="20" height="12" rx="6" />
      <circle class="mark-ground" cx="20" cy="16" r="4" />
    </svg>
    <span>{NAME}</span>
  </a>
);
