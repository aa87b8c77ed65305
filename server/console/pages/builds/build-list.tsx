/** Builds of an environment, newest first. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Build, Environment } from '@svc/sdk';
import { LoadOlder } from '../../load-older.tsx';
import { announce } from '../../announce.ts';
import { explain, isUnauthenticated } from '../../api.ts';
import { createLive, every } from '../../live.ts';
import { Failed, Reading } from '../../reading.tsx';
import { follow, hrefWith } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { useLastGood } from '../../use-last-good.ts';
import { duration } from '../../words.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Address } from './address.tsx';
import { State, Via } from './build-state.tsx';
import { builds } from './calls.ts';
import { POLL_MS } from './store.ts';
import { useTick } from '../../tick.ts';
import { hasEnded, shortCommit, tookMs } from './words.ts';

const PAGE = 50;

export function BuildList({ environment }: { readonly environment: Environment }) {
  const first = useLastGood(async () => await builds.listPage(environment.id, { limit: PAGE }));
  const older = useSignal<readonly Build[]>([]);
  const next = useSignal<string | undefined | null>(null);
  const busy = useSignal(false);
  useEffect(
    () =>
      createLive().follow({
        open: (ending) => every(POLL_MS, ending),
        onEvent: async () => await first.load(),
        onLost: first.markStale,
      }),
    [],
  );
  const known = first.data.value;
  const unknown = first.unknown.value;
  const running = known?.builds.some((build) => !hasEnded(build)) === true;
  const now = useTick(running);
  if (known === undefined) {
    if (unknown === undefined) return <Reading what="the builds" />;
    return <Failed what="The builds" why={unknown.why} again={() => void first.load()} />;
  }
  const cursor = next.value === null ? known.nextCursor : next.value;
  const loadOlder = async (): Promise<void> => {
    if (busy.value || cursor === undefined) return;
    busy.value = true;
    try {
      const page = await builds.listPage(environment.id, { limit: PAGE, cursor });
      older.value = [...older.value, ...page.builds];
      next.value = page.nextCursor;
    } catch (error) {
      if (!isUnauthenticated(error)) announce(explain(error));
    } finally {
      busy.value = false;
    }
  };
  // A build that a newer one has pushed off the first page is in neither until it is loaded again.
  const shown = [...new Map([...known.builds, ...older.value].map((build) => [build.id, build])).values()];
  return (
    <>
      <StaleNotice of={first} />
      {shown.length === 0 ? (
        <div class="empty">
          <p>Nothing was built in {environment.name} yet.</p>
          <p>
            {environment.repository === undefined
              ? 'It has no repository: give it one first.'
              : `Build now takes the head of ${environment.branch}.`}
          </p>
        </div>
      ) : (
        <Table builds={shown} environment={environment} now={now} doubtful={unknown !== undefined} />
      )}
      {cursor !== undefined && <LoadOlder apart busy={busy.value} load={loadOlder} />}
    </>
  );
}

interface TableProps {
  readonly builds: readonly Build[];
  readonly environment: Environment;
  readonly now: number;
  readonly doubtful: boolean;
}

function Table({ builds: shown, environment, now, doubtful }: TableProps) {
  return (
    <table class={doubtful ? 'table build-table doubtful' : 'table build-table'} role="table">
      <caption class="visually-hidden">Builds of {environment.name}, newest first</caption>
      <thead role="rowgroup">
        <tr role="row">
          {['Build', 'State', 'Commit', 'Runner', 'Took', 'Address', 'Begun'].map((name) => (
            <th key={name} scope="col" role="columnheader">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {shown.map((build) => (
          <Row key={build.id} build={build} now={now} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ build, now }: { readonly build: Build; readonly now: number }) {
  const took = tookMs(build, now);
  return (
    <tr role="row" class="row">
      <th scope="row" role="rowheader" class="cell-build">
        <a
          class="build-link"
          href={hrefWith({ env: build.environmentId, build: build.id })}
          aria-label={`Build ${build.number}`}
          onClick={follow}
        >
          #{build.number}
        </a>
        {build.trigger !== 'manual' && <span class="pill">{build.trigger}</span>}
      </th>
      <td role="cell" class="cell-build-state">
        <State build={build} />
        {build.state === 'failed' && build.message !== undefined && (
          <p class="build-message" title={build.message}>
            {build.message}
          </p>
        )}
      </td>
      <td role="cell" class="cell-commit">
        {build.commit === undefined ? (
          <span class="muted">head</span>
        ) : (
          <code title={build.commit}>{shortCommit(build.commit)}</code>
        )}{' '}
        <span class="muted">{build.branch}</span>
      </td>
      <td role="cell" class="cell-via">
        <Via build={build} />
      </td>
      <td role="cell" class="cell-took">
        {took === undefined ? <span class="muted">–</span> : duration(took)}
      </td>
      <td role="cell" class="cell-address">
        <Address address={build.address} />
      </td>
      <td role="cell" class="cell-begun">
        <Ago at={build.createdAt} />
      </td>
    </tr>
  );
}
