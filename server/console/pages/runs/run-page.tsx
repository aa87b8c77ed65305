/** Shows one run: how it stands, what it is, what it wrote, and how it is made again. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SandboxRun } from '@svc/sdk';
import { ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { Button } from '../../button.tsx';
import { collection } from '../../gen/team-sandbox-runs.ts';
import { Acts } from '../../generic/acts.tsx';
import { Facts, State } from '../../generic/value.tsx';
import { Missing } from '../../missing.tsx';
import type { PageProps } from '../../page.ts';
import { LogView } from '../../parts/log/log-view.tsx';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { follow } from '../../router.ts';
import { roleIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { useTick } from '../../tick.ts';
import { useTitlePart } from '../../title.ts';
import { followPolled } from '../../live.ts';
import { duration } from '../../words.ts';
import { commandLine } from './command-line.ts';
import { NewRun } from './new-run.tsx';
import { runOutput } from './output.ts';
import { hasFailed, isOver, POLL_MS, sandboxRuns, tookMs, wordsOf } from './words.ts';

export function RunPage({ session, place: { team, rest } }: PageProps) {
  const [, id = ''] = rest;
  const read = useRead<{ run: SandboxRun | undefined }>(`run ${id}`, async () => ({
    run: await ifMissing(undefined, async () => await sandboxRuns.get(id)),
  }));
  const known = read.data.value;
  const isAtWork = known?.run !== undefined && !isOver(known.run);
  useEffect(() => (isAtWork ? followPolled(read, POLL_MS) : undefined), [read, isAtWork]);
  useTitlePart(known?.run && commandLine(known.run.command));
  if (known === undefined) return <Unread of={read} what="the run" />;
  const { run } = known;
  if (run === undefined) return <Missing />;
  const teamId = team?.id ?? run.teamId;
  return (
    <>
      <StaleNotice of={read} />
      <Head key={id} run={run} teamId={teamId} mayRun={roleIn(session, teamId) !== 'viewer'} />
      <LogView
        key={`output ${id}`}
        source={runOutput(id, () => void read.load())}
        of={`run ${id}`}
        command={`svc runs logs ${id}`}
        hasFailed={hasFailed(run)}
      />
      <h2 class="facts-title">Details</h2>
      <Facts of={{ ...run }} shown={collection.shown} />
    </>
  );
}

interface HeadProps {
  readonly run: SandboxRun;
  readonly teamId: string;
  readonly mayRun: boolean;
}

function Head({ run, teamId, mayRun }: HeadProps) {
  const again = useSignal(false);
  const now = useTick(!isOver(run));
  const took = tookMs(run, now);
  const acts = collection.itemActs.filter(({ id }) => !isOver(run) || id !== 'sandboxRuns.cancel');
  return (
    <div class="item-head">
      <div>
        <h1 class="run-command">
          <code>{commandLine(run.command)}</code>
        </h1>
        <p>
          <State of={run.state} /> {wordsOf(run)}
          {run.runnerName !== undefined && (
            <>
              {' · on '}
              <a href={teamHref(teamId, 'runners', run.runnerId ?? '')} onClick={follow}>
                {run.runnerName}
              </a>
            </>
          )}
          {took !== undefined && <span aria-live="off"> · {duration(took)}</span>}
        </p>
      </div>
      {mayRun && (
        <div class="bar-buttons">
          <Button text="Run again" look="small" onClick={() => (again.value = true)} />
          <Acts calls={acts} given={{ runId: run.id, teamId }} item={run} />
        </div>
      )}
      {again.value && <NewRun teamId={teamId} again={run} onClose={() => (again.value = false)} />}
    </div>
  );
}
