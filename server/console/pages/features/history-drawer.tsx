/**
 * This drawer tells who moved a switch, when, why, and what changed with it. Its place is in the address, so
 * that it can be linked to.
 */
import { useEffect } from 'preact/hooks';
import type { ChangeSource, FeatureChange } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { LoadOlder } from '../../load-older.tsx';
import { Drawer } from '../../modal.tsx';
import { Problem } from '../../notice.tsx';
import { hrefWith, setParams } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { useCopy } from '../../use-copy.ts';
import { Affected, Arrow } from './affected.tsx';
import { byKey } from './feature-store.ts';
import { history, loadOlder, openHistory } from './history.ts';
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

export function HistoryDrawer({ of }: { readonly of: string }) {
  const revision = byKey.value.get(of)?.revision;
  useEffect(() => {
    void openHistory(of);
  }, [of, revision]);
  const shown = history.value?.key === of ? history.value : undefined;
  return (
    <Drawer
      id={TITLE}
      title={
        <>
          History of <code>{of}</code>
        </>
      }
      aside={<CopyLink of={of} />}
      busy={shown?.loading !== false}
      onClose={close}
    >
      <Problem of={shown?.problem} again={() => openHistory(of)} />
      {shown === undefined || (shown.loading && shown.changes.length === 0) ? (
        <p class="muted">Reading the history…</p>
      ) : shown.changes.length === 0 && shown.problem === undefined ? (
        <p class="muted">Nobody has moved this switch yet.</p>
      ) : (
        <ol class="changes">
          {shown.changes.map((change) => (
            <Change key={change.id} change={change} />
          ))}
        </ol>
      )}
      {shown?.nextCursor !== undefined && <LoadOlder busy={shown.loading} load={loadOlder} />}
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
