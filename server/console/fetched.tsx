/** Code that is fetched when it is first shown. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ComponentType } from 'preact';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

type Load<Props> = () => Promise<ComponentType<Props>>;

const TRIES_MAX = 3;
const TRY_AGAIN_MS = 400;

/** Views by the functions that load them. */
const loaded = new Map<unknown, unknown>();

interface FetchedProps<Props> {
  /** The same function at each render. */
  readonly load: Load<Props>;
  readonly props: Props;
}

export function Fetched<Props extends object>({ load, props }: FetchedProps<Props>) {
  const state = useSignal<'loading' | 'loaded' | 'failed'>(loaded.has(load) ? 'loaded' : 'loading');
  useEffect(() => {
    patiently(load).then(
      (view) => {
        loaded.set(load, view);
        state.value = 'loaded';
      },
      () => {
        state.value = 'failed';
      },
    );
  }, []);
  const View = loaded.get(load) as ComponentType<Props> | undefined;
  if (state.value === 'loaded' && View !== undefined) return <View {...props} />;
  return state.value === 'failed' ? <Outdated /> : <div class="waiting" aria-busy="true" />;
}

/** A computer that goes to another network while it fetches gets nothing at that moment. */
async function patiently<Props>(load: Load<Props>, tries = 1): Promise<ComponentType<Props>> {
  try {
    return await load();
  } catch (error) {
    if (tries === TRIES_MAX) throw error;
    await new Promise((resolve) => setTimeout(resolve, tries * TRY_AGAIN_MS));
    return await patiently(load, tries + 1);
  }
}

/** The names of files change with their content: after an update the old ones are gone. */
function Outdated() {
  return (
    <Notice
      kind="warn"
      role="alert"
      action={<Button text="Reload" look="small" onClick={() => window.location.reload()} />}
    >
      <strong>This page could not be fetched.</strong> The console was updated, or the server cannot be
      reached.
    </Notice>
  );
}
