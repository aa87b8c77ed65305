/** This view shows a team's runners: how each is, what to do about it, and what waits for them. */
import type { Team } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { LiveMark } from '../../live-mark.tsx';
import type { LiveStatus } from '../../live.ts';
import { Missing } from '../../missing.tsx';
import { Notice } from '../../notice.tsx';
import { Unread } from '../../reading.tsx';
import type { PageProps } from '../../page.ts';
import { ForRole } from '../../parts/role.tsx';
import { mayIn } from '../../session.ts';
import { TeamPage } from '../../team-page.tsx';
import { counted } from '../../words.ts';
import { ask, dialog } from './asked.ts';
import { useLiveRoster, useRoster, type Roster } from './calls.ts';
import { Dialogs } from './dialogs.tsx';
import { Queue } from './queue.tsx';
import { RosterTable } from './roster-table.tsx';
import { RunnerDrawer } from './runner-drawer.tsx';
import { healthWords } from './words.ts';

export function RunnersPage({ place }: PageProps) {
  return (
    <TeamPage title="Runners" place={place}>
      {(team) => <TeamRunners key={team.id} team={team} runnerId={place.rest[1]} />}
    </TeamPage>
  );
}

interface TeamRunnersProps {
  readonly team: Team;
  /** The one that is looked at beside the list. */
  readonly runnerId: string | undefined;
}

function TeamRunners({ team, runnerId }: TeamRunnersProps) {
  const roster = useRoster(team.id);
  const status = useLiveRoster(team.id, roster);
  const known = roster.data.value;
  if (known === 'absent') return <Missing />;
  const opened = known?.runners.find(({ id }) => id === runnerId);
  return (
    <div class="runners">
      <h1>Runners</h1>
      <div class="bar">
        <ForRole teamId={team.id} least="admin" acts="Enroll, pause and revoke runners">
          <Button text="Enroll a runner" look="primary" onClick={() => ask({ kind: 'enroll' })} />
        </ForRole>
      </div>
      {known === undefined ? (
        <Unread of={roster} what="the runners" rows={3} />
      ) : (
        <>
          <Summary roster={known} status={status} />
          <StaleNotice of={roster} />
          <Known team={team} roster={known} doubtful={roster.unknown.value !== undefined} />
        </>
      )}
      {opened !== undefined && <RunnerDrawer key={opened.id} runner={opened} />}
      {dialog.value !== undefined && <Dialogs team={team} roster={roster} dialog={dialog.value} />}
    </div>
  );
}

function Summary({ roster: { runners }, status }: { readonly roster: Roster; readonly status: LiveStatus }) {
  const good = runners.filter((each) => healthWords(each).tone === 'good').length;
  const leases = runners.reduce((sum, each) => sum + each.leases, 0);
  return (
    <p class="summary">
      {runners.length > 0 && (
        <span>
          {good} of {runners.length} ready or working · {counted(leases, 'item', 'items')} of work in hand
        </span>
      )}
      <LiveMark status={status} />
    </p>
  );
}

interface KnownProps {
  readonly team: Team;
  readonly roster: Roster;
  readonly doubtful: boolean;
}

function Known({ team, roster, doubtful }: KnownProps) {
  return (
    <>
      {team.operator === 'service' && (
        <Notice kind="plain">
          Work of this team runs on the service's own machines. Its runners get none of it until staff assign
          the team a region that customers operate.
        </Notice>
      )}
      <Queue health={roster.health} />
      {roster.runners.length > 0 ? (
        <RosterTable team={team} runners={roster.runners} doubtful={doubtful} />
      ) : (
        <NoneYet team={team} />
      )}
    </>
  );
}

function NoneYet({ team }: { readonly team: Team }) {
  const mayManage = mayIn(team.id, 'admin');
  return (
    <div class="empty empty-how">
      <h2>{team.name} has no runner yet</h2>
      <p>
        A runner is a program on a machine of yours that takes the team's work. It calls out and is never
        called, so nothing has to be opened for it.
      </p>
      <ol>
        <li>
          Put <code>svc-runner</code> on the machine; <code>svc-runner doctor</code> says what else it needs.
        </li>
        <li>{mayManage ? 'Enroll it with a token from here.' : 'Ask an admin of the team for a token.'}</li>
        <li>
          Start <code>svc-runner run</code>. It shows up here within seconds.
        </li>
      </ol>
      {mayManage && <Button onClick={() => ask({ kind: 'enroll' })}>Enroll the first runner</Button>}
    </div>
  );
}
