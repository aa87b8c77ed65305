/** Tries a document on what has passed its gates, and says which acts it would have treated otherwise. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { SimulatedGate, Simulation } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { Standing } from '../../fact.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { Id } from '../../generic/value.tsx';
import { Notice, Problem } from '../../notice.tsx';
import { Picker } from '../../picker.tsx';
import { Ago } from '../../time.tsx';
import { useWork } from '../../use-work.ts';
import { policies } from './calls.ts';
import { withDocument } from './checking.ts';
import type { Problem as TextProblem } from './problems.ts';
import { Reasons } from './reasons.tsx';
import { isOtherwise, messagesOf, OUTCOME, resultOf, whyOf } from './words.ts';

/** It waits 15 seconds for its turn at most, and takes 10. */
const ANSWER_MS = 30_000;
const GATES = ['100', '1000', '10'].map((id) => ({
  id,
  name: `The last ${Number(id).toLocaleString('en')}`,
}));
/** Rows that are added at a time: a thousand at once would hold up the page. */
const ROWS = 100;

interface SimulateProps {
  readonly teamId: string;
  readonly policyId: string;
  readonly text: ReadonlySignal<string>;
  /** The text cannot be tried; this is what is wrong. */
  readonly onProblems: (problems: readonly TextProblem[]) => void;
}

interface Tried {
  readonly text: string;
  readonly document: unknown;
  readonly simulation: Simulation;
}

export function Simulate({ teamId, policyId, text, onProblems }: SimulateProps) {
  const limit = useSignal('100');
  const tried = useSignal<Tried | undefined>(undefined);
  const { busy, problem, run } = useWork();
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const simulate = async (): Promise<void> => {
    const asked = text.peek();
    const options = { timeoutMs: ANSWER_MS, signal: ending.current.signal };
    const done = await withDocument(asked, onProblems, async (document) => ({
      document,
      simulation: await policies.simulate(teamId, policyId, Number(limit.value), { document }, options),
    }));
    if (done !== undefined) tried.value = { text: asked, ...done };
  };
  return (
    <section class="policy-simulation" aria-labelledby="policy-simulation">
      <h2 id="policy-simulation">Simulation</h2>
      <p class="muted">
        Judges by the text above what has passed these gates in the last 90 days. Nothing is changed by it.
      </p>
      <div class="bar policy-simulation-bar">
        <Picker label="Gates" of={GATES} value={limit.value} onPick={(picked) => (limit.value = picked)} />
        <Button
          text={busy.value ? 'Simulating…' : 'Simulate'}
          waits={busy.value}
          onClick={() => void run(simulate)}
        />
      </div>
      <Problem of={problem.value} />
      <div role="status">
        {tried.value !== undefined && <Result of={tried.value} isOld={tried.value.text !== text.value} />}
      </div>
    </section>
  );
}

function Result({ of: { simulation, document }, isOld }: { readonly of: Tried; readonly isOld: boolean }) {
  const isAll = useSignal(false);
  const shown = useSignal(ROWS);
  const { results, newlyDenied, oldestAt, truncated } = simulation;
  const otherwise = results.filter(isOtherwise);
  const rows = isAll.value ? results : otherwise;
  return (
    <div class="policy-result">
      <Notice kind={newlyDenied > 0 ? 'warn' : 'good'}>
        <strong>{resultOf(simulation)}</strong>
        {oldestAt !== undefined && (
          <>
            {' '}
            The oldest was <Ago at={oldestAt} />.
          </>
        )}
        {truncated && ' Time was up before all of them were judged.'}
        {isOld && ' The text was changed since.'}
      </Notice>
      {results.length > otherwise.length && (
        <button
          type="button"
          class="chip"
          aria-pressed={isAll.value}
          onClick={() => (isAll.value = !isAll.value)}
        >
          Also the {(results.length - otherwise.length).toLocaleString('en')} that stay as they were
        </button>
      )}
      {rows.length > 0 && (
        <Table
          caption="What was judged again"
          columns={columnsOf(messagesOf(document))}
          rows={rows.slice(0, shown.value)}
          keyOf={({ gateId }) => gateId}
        />
      )}
      {rows.length > shown.value && (
        <Button
          text={`Show ${Math.min(ROWS, rows.length - shown.value)} more`}
          look="wide"
          onClick={() => (shown.value += ROWS)}
        />
      )}
    </div>
  );
}

const columnsOf = (messages: ReadonlyMap<string, string>): ReadonlyArray<Column<SimulatedGate>> => [
  { name: 'at', label: 'When', show: ({ at }) => <Ago at={at} /> },
  { name: 'action', label: 'Action', show: ({ action }) => <code>{action}</code> },
  { name: 'subject', label: 'Subject', show: ({ subject }) => <Id of={subject} /> },
  {
    name: 'outcome',
    label: 'Then → now',
    show: ({ before, now }) => (
      <span class="policy-change">
        {before === undefined ? <span class="muted">Not asked</span> : <Standing of={OUTCOME[before]} />}→
        <Standing of={OUTCOME[now]} />
      </span>
    ),
  },
  { name: 'why', label: 'Why', show: (gate) => <Reasons of={whyOf(gate, messages)} /> },
];
