/** Payloads of webhooks as reports, and events joined to a state, for tests. */
import { accept, NO_EVENTS, type CiState } from '../../../server/connect/runs/accept.ts';
import type { CiEvent, RunReport } from '../../../server/connect/providers/index.ts';
import type { CiProvider } from '../../../server/connect/providers/words.ts';
import { PROVIDERS } from '../../../server/connect/providers/known.ts';

export const reportOf = (
  provider: CiProvider,
  headers: Record<string, string>,
  payload: unknown,
): RunReport => {
  const report = PROVIDERS[provider].normalise(headers, payload);
  if ('ignored' in report) throw new Error(`ignored: ${report.ignored}`);
  return report;
};

export const joinAll = (events: readonly CiEvent[], before: CiState = NO_EVENTS): CiState =>
  events.reduce<CiState>((state, event) => {
    const outcome = accept(state, event);
    return outcome.kind === 'accepted' ? outcome.state : state;
  }, before);
