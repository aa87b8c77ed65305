/** Keeps what the companion service answered last, as our server knows it. */
import { platformFeatures } from '../../api.ts';
import { lastGood } from '../../last-good.ts';

const EVERY_MS = 30_000;
/**
 * Reading counts as use of the session. A page that nobody touches must not keep it alive past its idle time.
 */
const WATCHED_MS = 5 * 60_000;

export const companion = lastGood(async () => await platformFeatures.companion());

/**
 * Reads now, whenever the page comes into view, and now and then while somebody is at it. Returns how it
 * ends.
 */
export function followCompanion(): () => void {
  let touchedAtMs = Date.now();
  const touch = (): void => {
    touchedAtMs = Date.now();
  };
  const inView = (): boolean => document.visibilityState === 'visible';
  const onVisible = (): void => {
    touch();
    if (inView()) void companion.load();
  };
  const timer = window.setInterval(() => {
    if (inView() && Date.now() - touchedAtMs < WATCHED_MS) void companion.load();
  }, EVERY_MS);
  const touches = ['pointerdown', 'pointermove', 'keydown'] as const;
  for (const name of touches) document.addEventListener(name, touch, { passive: true });
  document.addEventListener('visibilitychange', onVisible);
  void companion.load();
  return () => {
    window.clearInterval(timer);
    for (const name of touches) document.removeEventListener(name, touch);
    document.removeEventListener('visibilitychange', onVisible);
  };
}
