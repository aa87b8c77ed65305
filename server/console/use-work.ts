/** Work that somebody asked for: done once at a time, and what went wrong is kept to be shown. */
import { useSignal, useSignalEffect } from '@preact/signals';
import { announce } from './announce.ts';
import { explain, isUnauthenticated } from './api.ts';

export function useWork() {
  const busy = useSignal(false);
  const problem = useSignal<string | undefined>(undefined);
  const run = async (work: () => Promise<void>): Promise<void> => {
    if (busy.value) return;
    busy.value = true;
    problem.value = undefined;
    try {
      await work();
    } catch (error) {
      // The sign-in form comes up instead.
      if (!isUnauthenticated(error)) problem.value = explain(error);
    } finally {
      busy.value = false;
    }
  };
  return { busy, problem, run };
}

/** The same, where what went wrong is announced. */
export function useAnnouncedWork() {
  const work = useWork();
  useSignalEffect(() => {
    if (work.problem.value !== undefined) announce(work.problem.value);
  });
  return work;
}
