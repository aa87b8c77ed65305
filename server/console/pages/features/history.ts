/** Reads the changes of one feature, newest first, page by page. */
import { signal } from '@preact/signals';
import type { FeatureChange } from '@svc/sdk';
import { explain, platformFeatures } from '../../api.ts';
import { onForget } from '../../session.ts';

const PER_PAGE = 20;

export interface History {
  readonly key: string;
  readonly changes: readonly FeatureChange[];
  readonly nextCursor: string | undefined;
  readonly loading: boolean;
  readonly problem: string | undefined;
}

export const history = signal<History | undefined>(undefined);

onForget(() => {
  history.value = undefined;
});

/** Reads the newest page. What was shown of the same feature stays until it is there. */
export async function openHistory(key: string): Promise<void> {
  const shown = history.peek();
  const kept = shown?.key === key ? shown.changes : [];
  history.value = { key, changes: kept, nextCursor: undefined, loading: true, problem: undefined };
  await readPage(key, undefined, []);
}

export async function loadOlder(): Promise<void> {
  const shown = history.peek();
  if (shown === undefined || shown.loading || shown.nextCursor === undefined) return;
  history.value = { ...shown, loading: true, problem: undefined };
  await readPage(shown.key, shown.nextCursor, shown.changes);
}

async function readPage(
  key: string,
  cursor: string | undefined,
  before: readonly FeatureChange[],
): Promise<void> {
  const asked = history.peek();
  try {
    const page = await platformFeatures.historyPage(key, {
      limit: PER_PAGE,
      ...(cursor !== undefined && { cursor }),
    });
    if (history.peek() !== asked) return;
    const changes = [...before, ...page.changes];
    history.value = { key, changes, nextCursor: page.nextCursor, loading: false, problem: undefined };
  } catch (error) {
    const now = history.peek();
    if (now !== undefined && now === asked)
      history.value = { ...now, loading: false, problem: explain(error), nextCursor: cursor };
  }
}
