/** Builds of an environment, newest first. */
import type { Build, Environment } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { CardTable, Cell } from '../../table.tsx';
import { useOlder } from '../../load-older.tsx';
import { Unread } from '../../reading.tsx';
import { environmentHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { duration } from '../../words.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Address } from './address.tsx';
import { State, Via } from './build-state.tsx';
import { builds, POLL_MS } from './calls.ts';
import { useTick } from '../../tick.ts';
import { hasEnded, shortCommit, tookMs } from './words.ts';

const PAGE = 50;

const partOf = ({ builds: items, nextCursor }: Awaited<ReturnType<typeof builds.listPage>>) => ({
  items,
  nextCursor,
});

export function BuildList({ environment }: { readonly environment: Environment }) {
  const first = useRead(
    `builds ${environment.id}`,
    async () => await builds.listPage(environment.id, { limit: PAGE }),
    POLL_MS,
  );
  const withOlder = useOlder(async (cursor) =>
    partOf(await builds.listPage(environment.id, { limit: PAGE, cursor })),
  );
  const known = first.data.value;
  const unknown = first.unknown.value;
  const running = known?.builds.some((build) => !hasEnded(build)) === true;
  const now = useTick(running);
  if (known === undefined) return <Unread of={first} what="the builds" />;
  const { items: shown, button } = withOlder(partOf(known));
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
      {button}
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
    <CardTable
      class="build-table"
      caption={`Builds of ${environment.name}, newest first`}
      columns={['Build', 'State', 'Commit', 'Runner', 'Took', 'Address', 'Begun']}
      doubtful={doubtful}
    >
      <tbody role="rowgroup">
        {shown.map((build) => (
          <Row key={build.id} build={build} now={now} />
        ))}
      </tbody>
    </CardTable>
  );
}

function Row({ build, now }: { readonly build: Build; readonly now: number }) {
  const took = tookMs(build, now);
  return (
    <tr role="row" class="row">
      <th scope="row" role="rowheader" class="cell-build">
        <a
          class="build-link"
          href={environmentHref(build.environmentId, 'builds', build.id)}
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
      <Cell class="cell-via" of={<Via build={build} />} />
      <Cell class="cell-took" of={took === undefined ? <span class="muted">–</span> : duration(took)} />
      <Cell class="cell-address" of={<Address address={build.address} />} />
      <Cell class="cell-begun" of={<Ago at={build.createdAt} />} />
    </tr>
  );
}
