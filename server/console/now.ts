/** The present, renewed every 15 s: what pages write relative times from. */
import { signal } from '@preact/signals';

const EVERY_MS = 15_000;

export const nowMs = signal(Date.now());

const renew = (): void => {
  nowMs.value = Date.now();
};
setInterval(renew, EVERY_MS);
// Timers of hidden tabs run late.
document.addEventListener('visibilitychange', renew);
