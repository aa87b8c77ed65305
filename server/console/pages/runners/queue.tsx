/** Work that waits for the team's runners: a banner when it is stuck, a line when it merely waits. */
import type { StuckItem, TeamHealth } from '@svc/sdk';
import { sentence } from '../../api.ts';
import { Icon } from '../../icons.tsx';
import { Ago, At } from '../../time.tsx';
import { stuckWords } from './words.ts';

export function Queue({ health }: { readonly health: TeamHealth }) {
  const { degraded, since, reason, stuckWork } = health;
  const waiting = stuckWords(stuckWork);
  return (
    <div role="status">
      {degraded ? (
        <section class="degraded" aria-labelledby="degraded-title">
          <h2 id="degraded-title">
            <Icon of="warn" /> Work is stuck
            {since !== undefined && (
              <>
                {' '}
                since <At ms={Date.parse(since)} />
              </>
            )}
          </h2>
          {reason !== undefined && <p>{sentence(reason.detail)}</p>}
          <Waits waiting={waiting} health={health} />
        </section>
      ) : (
        waiting !== '' && (
          <section class="waits" aria-label="Waiting work">
            <Waits waiting={waiting} health={health} />
          </section>
        )
      )}
    </div>
  );
}

function Waits({
  waiting,
  health: { stuckWork, reason },
}: {
  readonly waiting: string;
  readonly health: TeamHealth;
}) {
  if (waiting === '') return <p class="muted">Nothing waits at the moment.</p>;
  return (
    <>
      <p>
        <strong>{waiting}</strong> waiting
        {stuckWork.oldestAt !== undefined && (
          <>
            , the oldest from <Ago at={stuckWork.oldestAt} />
          </>
        )}
      </p>
      {stuckWork.items.length > 0 && (
        <details class="stuck">
          <summary>What waits, and why</summary>
          <ol>
            {stuckWork.items.map((item) => (
              <Item key={item.id} item={item} known={reason?.detail} />
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

/** What stands above all of them is not said again of each. */
function Item({
  item: { id, kind, createdAt, waiting },
  known,
}: {
  readonly item: StuckItem;
  readonly known: string | undefined;
}) {
  return (
    <li>
      <p>
        {kind === 'build' ? 'Build' : 'Run'} <code>{id}</code>{' '}
        <span class="muted">
          <Ago at={createdAt} />
        </span>
      </p>
      <p class="muted">{waiting.detail === known ? 'For the same reason.' : sentence(waiting.detail)}</p>
    </li>
  );
}
