/** What payloads come to, for tests. */
import { accept, NOTHING_HEARD } from '../../accept.ts';
import type { CiEvent, CiState } from '../../accept.ts';
import type { CiProvider } from '../../words.ts';
import { PROVIDERS } from '../index.ts';
import type { News } from '../index.ts';

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
