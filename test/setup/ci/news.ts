/** What payloads come to, for tests. */
import { accept, NOTHING_HEARD } from '../../../server/connect/ci/accept.ts';
import type { CiEvent, CiState } from '../../../server/connect/ci/accept.ts';
import type { CiProvider } from '../../../server/connect/ci/words.ts';
import { PROVIDERS } from '../../../server/connect/ci/providers/index.ts';
import type { News } from '../../../server/connect/ci/providers/index.ts';

export const newsOf = (provider: CiProvider, headers: Record<string, string>, payload: unknown): News => {
  const news = PROVIDERS[provider].normalise(headers, payload);
  if ('ignored' in news) throw new Error(`ignored: ${news.ignored}`);
  return news;
};

export const hearAll = (events: readonly CiEvent[], before: CiState = NOTHING_HEARD): CiState =>
  events.reduce<CiState>((state, event) => {
    const outcome = accept(state, event);
    return outcome.kind === 'accepted' ? outcome.state : state;
  }, before);
