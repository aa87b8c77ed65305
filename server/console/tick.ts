/** The present by the second, for durations that run; only while something runs. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

export function useTick(running: boolean): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    now.value = Date.now();
    if (!running) return;
    const timer = window.setInterval(() => {
      now.value = Date.now();
    }, 1_000);
    return () => window.clearInterval(timer);
  }, [running]);
  return now.value;
}
