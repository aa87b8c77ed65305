/**
 * This drawer tells who moved a switch, when, why, and what changed with it. Its place is in the address, so
 * that it can be linked to.
 */
import type { ChangeSource, FeatureChange } from '@svc/sdk';
import { platformFeatures } from '../../api.ts';
import { Button } from '../../button.tsx';
import { useRead, useReadAgain } from '../../cache.ts';
import { useOlder } from '../../load-older.tsx';
import { Drawer } from '../../modal.tsx';
import { Unread } from '../../reading.tsx';
import { hrefWith, setParams } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { useCopy } from '../../use-copy.ts';
import { Affected, Arrow } from './affected.tsx';
import { featureOf } from './features.ts';
import { counted } from '../../words.ts';
import { actorName, position } from './words.ts';

const TITLE = 'history-title';

const SOURCE: Readonly<Record<ChangeSource, string>> = {
  console: 'in the console',
  api: 'through the API',
  cli: 'with svc',
  boot: 'at a start',
};

const close = (): void => setParams({ history: undefined }, { replace: true });

const PER_PAGE = 20;

async function readPage(key: string, cursor?: string) {
  const page = await platformFeatures.historyPage(key, {
    limit: PER_PAGE,
    ...(cursor !== undefined && { cursor }),
  });
  return { items: page.changes, nextCursor: page.nextCursor };
}

export function HistoryDrawer({ of }: { readonly of: string }) {
  const first = useRead(`history ${of}`, async () => await readPage(of));
  const older = useOlder(async (cursor) => await readPage(of, cursor));
  useReadAgain(first, featureOf(of)?.revision);
  const known = first.data.value;
  const { items, button } = older(known ?? { items: [], nextCursor: undefined });
  return (
    <Drawer
      id={TITLE}
      title={
        <>
          History of <code>{of}</code>
        </>
      }
      aside={<CopyLink of={of} />}
      busy={first.loading.value}
      onClose={close}
    >
      <StaleNotice of={first} />
      {known === undefined ? (
        <Unread of={first} what="the history" plain />
      ) : items.length === 0 ? (
        <p class="muted">Nobody has moved this switch yet.</p>
      ) : (
        <ol class="changes">
          {items.map((change) => (
            <Change key={change.id} change={change} />
          ))}
        </ol>
      )}
      {button}
    </Drawer>
  );
}

function CopyLink({ of }: { readonly of: string }) {
  const { result, copy } = useCopy('Copy it from the address bar');
  const link = hrefWith({ history: of });
  return (
    <>
      <Button text="Copy link" look="quiet small" onClick={() => void copy(link)} />
      <span class="copy-result" role="status">
        {result.value}
      </span>
    </>
  );
}

function Change({ change }: { readonly change: FeatureChange }) {
  const others = change.affected.filter(({ key }) => key !== change.key);
  return (
    <li class={`change change-${position(change.to)}`}>
      <p class="change-head">
        <span class="change-move">
          {position(change.from)} <Arrow /> {position(change.to)}
        </span>
        <span class="muted">
          <Ago at={change.at} />
        </span>
      </p>
      <p class="change-text">{change.reason}</p>
      <p class="change-by muted">
        {actorName(change.actor)}, {SOURCE[change.source]}
        <span class="change-revision"> · revision {change.revisionTo}</span>
      </p>
      {others.length > 0 && (
        <details class="fold">
          <summary>{counted(others.length, 'more feature', 'more features')} changed with it</summary>
          <ul class="affected">
            {others.map((feature) => (
              <Affected key={feature.key} feature={feature} />
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}
