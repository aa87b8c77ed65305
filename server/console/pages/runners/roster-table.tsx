/**
 * This view shows one row a runner, in the order of their names. On narrow screens the same rows are cards.
 */
import type { Runner, Team } from '@svc/sdk';
import { CardTable, Cell } from '../../table.tsx';
import { teamHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { QuickAction } from './actions.tsx';
import { Health } from './health.tsx';

export interface RosterTableProps {
  readonly team: Team;
  readonly runners: readonly Runner[];
  /** The rows may no longer be true. */
  readonly doubtful: boolean;
}

export function RosterTable({ team, runners, doubtful }: RosterTableProps) {
  return (
    <CardTable
      class="roster"
      caption={`Runners of ${team.name} with their health and what they hold`}
      columns={['Runner', 'Health', 'Holds', 'Strikes', 'Version', 'Last contact', 'Actions']}
      doubtful={doubtful}
    >
      <tbody role="rowgroup">
        {runners.map((runner) => (
          <Row key={runner.id} runner={runner} />
        ))}
      </tbody>
    </CardTable>
  );
}

function Row({ runner }: { readonly runner: Runner }) {
  const last = runner.lastSeenAt ?? runner.lastHeartbeatAt;
  return (
    <tr role="row" class="row">
      <th scope="row" role="rowheader" class="cell-runner">
        <a class="runner-name" href={teamHref(runner.teamId, 'runners', runner.id)} onClick={follow}>
          {runner.name}
        </a>
        <Labels labels={runner.labels} />
      </th>
      <Cell class="cell-health" of={<Health runner={runner} />} />
      <Cell class="cell-number" data-name="Holds" of={runner.leases} />
      <Cell class="cell-number cell-strikes" data-name="Strikes" of={runner.strikes} />
      <Cell
        class="cell-version"
        data-name="Version"
        of={runner.version === '' ? <span class="muted">–</span> : <code>{runner.version}</code>}
      />
      <Cell
        class="cell-contact"
        data-name="Last contact"
        of={last === undefined ? <span class="muted">never</span> : <Ago at={last} />}
      />
      <Cell class="cell-actions" of={<QuickAction runner={runner} />} />
    </tr>
  );
}

export function Labels({ labels }: { readonly labels: Runner['labels'] }) {
  const all = Object.entries(labels).toSorted(([a], [b]) => a.localeCompare(b));
  if (all.length === 0) return null;
  return (
    <ul class="labels" aria-label="Labels">
      {all.map(([name, value]) => (
        <li key={name} class="pill">
          {name}={value}
        </li>
      ))}
    </ul>
  );
}
