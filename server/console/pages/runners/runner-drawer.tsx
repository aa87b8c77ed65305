/**
 * Shows one runner: what it is, what can be done with it, and what it held. Its place is in the address, so
 * that it can be linked to.
 */
import type { Lease, Runner } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { useOlder } from '../../load-older.tsx';
import { invalidate, useRead, useReadAgain } from '../../cache.ts';
import { Fact } from '../../fact.tsx';
import { Drawer } from '../../modal.tsx';
import { ForRole, Lacking } from '../../parts/role.tsx';
import { mayIn } from '../../session.ts';
import { Unread } from '../../reading.tsx';
import { teamHref } from '../../place.ts';
import { navigate } from '../../router.ts';
import { Ago } from '../../time.tsx';
import { counted, duration } from '../../words.ts';
import { AtOnce, PauseOrResume } from './actions.tsx';
import { ask } from './asked.ts';
import { runners } from './calls.ts';
import { Health } from './health.tsx';
import { Labels } from './roster-table.tsx';

const TITLE = 'runner-title';
const LEASES_PAGE = 20;

export function RunnerDrawer({ runner }: { readonly runner: Runner }) {
  const { teamId, name, flagged } = runner;
  return (
    <Drawer id={TITLE} title={name} onClose={() => navigate(teamHref(teamId, 'runners'))}>
      <Health runner={runner} />
      <ForRole teamId={teamId} least="admin" acts="Pause, resume, ask for diagnostics, revoke">
        <div class="drawer-actions">
          <PauseOrResume runner={runner} />
          {flagged && mayIn(teamId, 'owner') && (
            <Button text="Clear flag" look="small" onClick={() => ask({ kind: 'clear', runner })} />
          )}
          <AtOnce
            act={async () => {
              await runners.requestDiagnostics(teamId, runner.id);
              invalidate();
              return `${name} is asked for diagnostics with its next call.`;
            }}
          >
            Ask for diagnostics
          </AtOnce>
          <Button text="Revoke" look="small danger" onClick={() => ask({ kind: 'revoke', runner })} />
        </div>
      </ForRole>
      {flagged && !mayIn(teamId, 'owner') && <Lacking acts={[{ title: 'Clear flag', role: 'owner' }]} />}
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

async function readLeases({ teamId, id }: Runner, cursor?: string) {
  const page = await runners.historyPage(teamId, id, {
    limit: LEASES_PAGE,
    ...(cursor !== undefined && { cursor }),
  });
  const items = page.leases.map((lease) => ({ id: `${lease.workId} ${lease.epoch}`, lease }));
  return { items, nextCursor: page.nextCursor };
}

function History({ runner }: { readonly runner: Runner }) {
  const first = useRead(`leases ${runner.id}`, async () => await readLeases(runner));
  const older = useOlder(async (cursor) => await readLeases(runner, cursor));
  // What it gives back is in its history from then on.
  useReadAgain(first, runner.leases);
  const known = first.data.value;
  const { items, button } = older(known ?? { items: [], nextCursor: undefined });
  return (
    <section class="runner-history" aria-labelledby="runner-history" aria-busy={first.loading.value}>
      <h3 id="runner-history">What it held</h3>
      {known === undefined ? (
        <Unread of={first} what="the history" plain />
      ) : items.length === 0 ? (
        <p class="muted">It has given nothing back yet.</p>
      ) : (
        <ol class="changes">
          {items.map(({ id, lease }) => (
            <Held key={id} lease={lease} />
          ))}
        </ol>
      )}
      {button}
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
