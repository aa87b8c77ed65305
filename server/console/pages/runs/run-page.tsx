/** Shows one run: how it stands, what it is, what it wrote, and how it is made again. */
import { useSignal } from '@preact/signals';
import { SandboxRuns, type SandboxRun } from '@svc/sdk';
import { client, ifMissing } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { Button } from '../../button.tsx';
import { collection } from '../../gen/team-sandbox-runs.ts';
import { ActDialog } from '../../generic/act-dialog.tsx';
import { Acts } from '../../generic/acts.tsx';
import { Facts, State } from '../../generic/value.tsx';
import { Missing } from '../../missing.tsx';
import type { PageProps } from '../../page.ts';
import type { LogSource } from '../../parts/log/followed-log.ts';
import { LogView } from '../../parts/log/log-view.tsx';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { navigate } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { useTitlePart } from '../../title.ts';
import { commandLine } from './command-line.ts';

const sandboxRuns = new SandboxRuns(client);
const EVERY_MS = 5_000;

/** Grants rise with each execution, and not always by one. */
function runOutput(id: string, onMoved: () => void): LogSource {
  let granted = 0;
  let attempt = 0;
  return {
    onMoved,
    open: async function* (after, options) {
      const from = { follow: true, ...(after !== undefined && { after }) };
      for await (const { epoch, ...event } of sandboxRuns.streamLogs(id, from, options)) {
        if (epoch !== granted) attempt += 1;
        granted = epoch;
        yield { ...event, attempt };
      }
    },
  };
}

export function RunPage({ place: { team, rest } }: PageProps) {
  const [, id = ''] = rest;
  const read = useRead<{ run: SandboxRun | undefined }>(
    `run ${id}`,
    async () => ({ run: await ifMissing(undefined, async () => await sandboxRuns.get(id)) }),
    EVERY_MS,
  );
  const known = read.data.value;
  useTitlePart(known?.run && commandLine(known.run.command));
  if (known === undefined) return <Unread of={read} what="the run" />;
  const { run } = known;
  if (run === undefined) return <Missing />;
  return (
    <>
      <StaleNotice of={read} />
      <Head run={run} teamId={team?.id ?? run.teamId} />
      <LogView
        key={id}
        source={runOutput(id, () => void read.load())}
        of={`run ${id}`}
        command={`svc runs logs ${id}`}
      />
      <h2 class="facts-title">Details</h2>
      <Facts of={{ ...run }} shown={collection.shown} />
    </>
  );
}

const ENDED = ['cancelled', 'expired', 'failed', 'succeeded', 'timed_out'];

function Head({ run, teamId }: { readonly run: SandboxRun; readonly teamId: string }) {
  const again = useSignal(false);
  const create = collection.acts.find(({ id }) => id === 'sandboxRuns.create');
  const isOver = run.finishedAt !== undefined || ENDED.includes(run.state);
  const acts = collection.itemActs.filter(({ id }) => !isOver || id !== 'sandboxRuns.cancel');
  return (
    <div class="item-head">
      <div>
        <h1>
          <code>{commandLine(run.command)}</code>
        </h1>
        <p>
          <State of={run.state} /> {wordsOf(run)}
        </p>
      </div>
      <div class="bar-buttons">
        {create !== undefined && (
          <Button text="Run again" look="small" onClick={() => (again.value = true)} />
        )}
        <Acts calls={acts} given={{ runId: run.id, teamId }} item={run} />
      </div>
      {again.value && create !== undefined && (
        <ActDialog
          call={create}
          given={{ teamId }}
          start={run}
          note={lostOf(run)}
          onClose={() => (again.value = false)}
          onDone={(made) => navigate(teamHref(teamId, 'sandbox-runs', (made as SandboxRun).id))}
        />
      )}
    </div>
  );
}

/** Values of variables and the standard input are given to runners alone, and nobody reads them back. */
function lostOf({ envNames }: SandboxRun): string | undefined {
  return envNames.length === 0
    ? undefined
    : `It had variables whose values are not kept: ${envNames.join(', ')}. Give them anew if it needs them.`;
}

/** Why it waits, or how it ended. */
function wordsOf({ waiting, exitCode, reason, message, runnerName }: SandboxRun): string {
  const parts = [
    waiting && `waits: ${waiting.reason.replaceAll('_', ' ')}`,
    exitCode === undefined ? undefined : `exit code ${exitCode}`,
    reason?.replaceAll('_', ' '),
    message,
    runnerName && `on ${runnerName}`,
  ];
  return parts.filter((each) => each !== undefined && each !== '').join(' · ');
}
