/**
 * Shows one runner: what it is, what can be done with it, and what it held. Its place is in the address, so
 * that it can be linked to.
 */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Lease, Runner, Team } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { LoadOlder } from '../../load-older.tsx';
import { explain, isUnauthenticated } from '../../api.ts';
import { Fact } from '../../fact.tsx';
import type { LastGood } from '../../last-good.ts';
import { Drawer } from '../../modal.tsx';
import { Problem } from '../../notice.tsx';
import { teamHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { counted, duration } from '../../words.ts';
import { applyRunner, AtOnce, PauseOrResume } from './actions.tsx';
import { runners } from './calls.ts';
import { Health } from './health.tsx';
import { Labels } from './roster-table.tsx';
import { ask, mayClear, mayManage, type RosterAnswer } from './store.ts';

const TITLE = 'runner-title';
const LEASES_PAGE = 20;

export interface RunnerDrawerProps {
  readonly team: Team;
  readonly runner: Runner;
  readonly of: LastGood<RosterAnswer>;
}

export function RunnerDrawer({ team, runner, of }: RunnerDrawerProps) {
  return (
    <Drawer id={TITLE} title={runner.name} onClose={() => navigate(teamHref(team.id, 'runners'))}>
      <Health runner={runner} />
      {mayManage(team) ? (
        <div class="drawer-actions">
          <PauseOrResume runner={runner} of={of} />
          {runner.flagged && mayClear(team) && (
            <Button text="Clear flag" look="small" onClick={() => ask({ kind: 'clear', runner })} />
          )}
          <AtOnce
            act={async () => {
              applyRunner(of, await runners.requestDiagnostics(runner.teamId, runner.id));
              return `${runner.name} is asked for diagnostics with its next call.`;
            }}
          >
            Ask for diagnostics
          </AtOnce>
          <Button text="Revoke" look="small danger" onClick={() => ask({ kind: 'revoke', runner })} />
        </div>
      ) : (
        <p class="muted">Admins of the team can pause, resume and revoke it.</p>
      )}
      {runner.flagged && !mayClear(team) && <p class="muted">Owners of the team can clear its flag.</p>}
      <Facts runner={runner} />
      <History runner={runner} />
    </Drawer>
  );
}

function Facts({ runner }: { readonly runner: Runner }) {
  const { diagnostics } = runner;
  return (
    <dl class="facts">
      <Fact name="Holds">{counted(runner.leases, 'item', 'items')} of work</Fact>
      <Fact name="Strikes">{runner.strikes}</Fact>
      <Fact name="Version">{runner.version === '' ? 'not told yet' : runner.version}</Fact>
      <Fact
        name="Runs work with"
        of={runner.executor === '' ? 'not told yet' : `${runner.executor} (${runner.isolation})`}
      />
      <Fact name="Enrolled" of={<Ago at={runner.enrolledAt} />} />
      <Fact
        name="Last heartbeat"
        of={runner.lastHeartbeatAt === undefined ? 'never' : <Ago at={runner.lastHeartbeatAt} />}
      />
      <Fact name="Id" of={<code>{runner.id}</code>} />
      {Object.keys(runner.labels).length > 0 && <Fact name="Labels" of={<Labels labels={runner.labels} />} />}
      {diagnostics !== undefined && (
        <Fact name="Diagnostics">
          {diagnostics.containerCliVersion === '' ? 'no container engine' : diagnostics.containerCliVersion}
          {diagnostics.deployCliVersion !== '' && `, ${diagnostics.deployCliVersion}`},{' '}
          {diagnostics.workspaceFreeMb.toLocaleString('en')} MB free,{' '}
          <span class="muted">
            <Ago at={diagnostics.at} />
          </span>
        </Fact>
      )}
    </dl>
  );
}

function History({ runner }: { readonly runner: Runner }) {
  const leases = useSignal<readonly Lease[] | undefined>(undefined);
  const next = useSignal<string | undefined>(undefined);
  const problem = useSignal<string | undefined>(undefined);
  const busy = useSignal(false);
  const read = async (cursor?: string): Promise<void> => {
    if (busy.value && cursor !== undefined) return;
    busy.value = true;
    problem.value = undefined;
    try {
      const page = await runners.historyPage(runner.teamId, runner.id, {
        limit: LEASES_PAGE,
        ...(cursor !== undefined && { cursor }),
      });
      leases.value = cursor === undefined ? page.leases : [...(leases.value ?? []), ...page.leases];
      next.value = page.nextCursor;
    } catch (error) {
      if (!isUnauthenticated(error)) problem.value = explain(error);
    } finally {
      busy.value = false;
    }
  };
  // What it gives back is in its history from then on.
  useEffect(() => void read(), [runner.id, runner.leases]);
  return (
    <section class="runner-history" aria-labelledby="runner-history" aria-busy={busy.value}>
      <h3 id="runner-history">What it held</h3>
      <Problem of={problem.value} again={() => read()} />
      {leases.value === undefined ? (
        problem.value === undefined && <p class="muted">Reading…</p>
      ) : leases.value.length === 0 ? (
        <p class="muted">It has given nothing back yet.</p>
      ) : (
        <ol class="changes">
          {leases.value.map((lease) => (
            <Held key={`${lease.workId} ${lease.epoch}`} lease={lease} />
          ))}
        </ol>
      )}
      {next.value !== undefined && <LoadOlder busy={busy.value} load={() => read(next.value)} />}
    </section>
  );
}

const OUTCOME: Readonly<Record<string, string>> = {
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
  expired: 'was taken away: no contact for too long',
  revoked: 'was taken away: the runner was revoked',
};

function Held({ lease }: { readonly lease: Lease }) {
  return (
    <li class={`change ${lease.outcome === 'succeeded' ? 'change-on' : ''}`}>
      <p class="change-head">
        <span class="change-move">
          {lease.kind === 'build' ? 'Build' : 'Run'} {OUTCOME[lease.outcome] ?? lease.outcome}
        </span>
        <span class="muted">
          <Ago at={lease.endedAt} />
        </span>
      </p>
      <p class="change-by muted">
        <code>{lease.workId}</code>
        {lease.meteredMs !== undefined && ` · ${duration(lease.meteredMs)} metered`}
        {lease.selfReportedMs !== undefined && `, ${duration(lease.selfReportedMs)} by its own clock`}
      </p>
    </li>
  );
}
