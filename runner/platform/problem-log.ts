/** Logs what stays wrong once, until it is another problem or has gone. */
import { errorText } from './errors.ts';
import type { Log } from './log.ts';

export interface ProblemLog {
  /** Takes undefined where there is none any more. */
  tell(problem: string | undefined): void;
  /** Tells what an act failed of; returns whether it succeeded. Never rejects. */
  during(act: () => Promise<void>): Promise<boolean>;
}

export function createProblemLog(log: Log, message: string): ProblemLog {
  let told: string | undefined;
  const tell = (problem: string | undefined): void => {
    if (problem !== undefined && problem !== told) log.error({ problem }, message);
    told = problem;
  };
  return {
    tell,
    during: async (act) => {
      try {
        await act();
      } catch (error) {
        tell(errorText(error));
        return false;
      }
      tell(undefined);
      return true;
    },
  };
}
