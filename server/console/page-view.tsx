/** A page, as soon as its code is there. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Notice } from './notice.tsx';
import type { ConsolePage, PageView } from './page.ts';
import type { SignedIn } from './session.ts';

const loaded = new Map<ConsolePage, PageView>();

export function LoadedPage({ page, session }: { readonly page: ConsolePage; readonly session: SignedIn }) {
  const state = useSignal<'loading' | 'loaded' | 'failed'>(loaded.has(page) ? 'loaded' : 'loading');
  useEffect(() => {
    page.load().then(
      (view) => {
        loaded.set(page, view);
        state.value = 'loaded';
      },
      () => {
        state.value = 'failed';
      },
    );
  }, []);
  const View = loaded.get(page);
  if (state.value === 'loaded' && View !== undefined) return <View session={session} />;
  return state.value === 'failed' ? <Outdated /> : <div class="waiting" aria-busy="true" />;
}

/** The names of files change with their content: after an update the old ones are gone. */
function Outdated() {
  return (
    <Notice
      kind="warn"
      role="alert"
      action={
        <button class="button button-small" type="button" onClick={() => window.location.reload()}>
          Reload
        </button>
      }
    >
      <strong>This page could not be fetched.</strong> The console was updated, or the server cannot be
      reached.
    </Notice>
  );
}
