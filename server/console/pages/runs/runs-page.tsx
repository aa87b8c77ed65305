/** Lists runs of a team, newest first. */
import { useSignal } from '@preact/signals';
import type { RunState, SandboxRun } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { useRead } from '../../cache.ts';
import { CopyButton } from '../../copy.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { spoken, State } from '../../generic/value.tsx';
import { useOlder } from '../../load-older.tsx';
import type { PageProps } from '../../page.ts';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { param, setParams } from '../../router.ts';
import { roleIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { useTick } from '../../tick.ts';
import { Ago } from '../../time.tsx';
import { duration } from '../../words.ts';
import { commandLine } from './command-line.ts';
import { NewRun } from './new-run.tsx';
import { FILTERS, isOver, POLL_MS, sandboxRuns, tookMs, wordsOf } from './words.ts';

const PAGE = 50;
const COMMAND = 'svc runs create -- echo hi';

/** States that the address asks for; words that are none are left out. */
function statesOf(text = ''): readonly RunState[] {
  const words = text.split(',');
  return FILTERS.flat().filter((state) => words.includes(state));
}

export function RunsPage({ session, place: { team } }: PageProps) {
  const isMaking = useSignal(false);
  if (team === undefined) return null;
  const states = statesOf(param('state'));
  const make = roleIn(session, team.id) === 'viewer' ? undefined : (): void => void (isMaking.value = true);
  return (
    <>
      <h1>Runs</h1>
      <div class="bar">
        <Filters states={states} />
        {make !== undefined && <Button text="New run" look="primary" onClick={make} />}
      </div>
      <Runs key={`${team.id} ${states.join()}`} teamId={team.id} states={states} make={make} />
      {isMaking.value && <NewRun teamId={team.id} onClose={() => (isMaking.value = false)} />}
    </>
  );
}

function Filters({ states }: { readonly states: readonly RunState[] }) {
  const choices = [[], ...FILTERS];
  return (
    <div class="run-filters" role="group" aria-label="State">
      {choices.map((choice) => (
        <button
          key={choice.join()}
          class="chip"
          type="button"
          aria-pressed={choice.join() === states.join()}
          onClick={() => setParams({ state: choice.join() })}
        >
          {spoken(choice[0] ?? 'all')}
        </button>
      ))}
    </div>
  );
}

interface RunsProps {
  readonly teamId: string;
  readonly states: readonly RunState[];
  /** Absent for who may make none. */
  readonly make: (() => void) | undefined;
}

function Runs({ teamId, states, make }: RunsProps) {
  const readPage = async (cursor?: string) => {
    const more = {
      ...(states.length > 0 && { state: [...states] }),
      ...(cursor !== undefined && { cursor }),
    };
    const { sandboxRuns: items, nextCursor } = await sandboxRuns.listPage(teamId, { limit: PAGE, ...more });
    return { items, nextCursor };
  };
  const first = useRead(`runs ${teamId} ${states.join()}`, async () => await readPage(), POLL_MS);
  const withOlder = useOlder(readPage);
  const now = useTick(first.data.value?.items.some((run) => !isOver(run)) === true);
  const known = first.data.value;
  if (known === undefined) return <Unread of={first} what="the runs" />;
  const { items, button } = withOlder(known);
  return (
    <>
      <StaleNotice of={first} />
      {items.length === 0 ? (
        <Empty isFiltered={states.length > 0} make={make} />
      ) : (
        <Table
          caption="Runs, newest first"
          rows={items}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => teamHref(teamId, 'sandbox-runs', id)}
          isDoubtful={first.unknown.value !== undefined}
          columns={columnsAt(now)}
        />
      )}
      {button}
    </>
  );
}

const columnsAt = (now: number): ReadonlyArray<Column<SandboxRun>> => [
  {
    name: 'command',
    label: 'Command',
    show: ({ command }) => <code class="brief">{commandLine(command)}</code>,
  },
  {
    name: 'state',
    label: 'State',
    show: (run) => (
      <>
        <State of={run.state} /> <span class="muted run-words">{wordsOf(run)}</span>
      </>
    ),
  },
  { name: 'runner', label: 'Runner', show: ({ runnerName }) => runnerName ?? <span class="muted">–</span> },
  {
    name: 'took',
    label: 'Took',
    show: (run) => {
      const took = tookMs(run, now);
      return took === undefined ? <span class="muted">–</span> : duration(took);
    },
  },
  { name: 'at', label: 'Created', show: ({ createdAt }) => <Ago at={createdAt} /> },
];

function Empty({ isFiltered, make }: { readonly isFiltered: boolean; readonly make: RunsProps['make'] }) {
  if (isFiltered) return <p class="empty">No run is in this state.</p>;
  return (
    <div class="empty">
      <p>A run is a command that one of your runners executes and whose output is kept. There is none yet.</p>
      {make !== undefined && <Button text="New run" look="primary" onClick={make} />}
      <p>
        <code>{COMMAND}</code> <CopyButton text={COMMAND} label="Copy the command" />
      </p>
    </div>
  );
}
