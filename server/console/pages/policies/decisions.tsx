/** Lists what a policy decided at gates, newest first, with its reasons. */
import type { PolicyDecision } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { Standing } from '../../fact.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { Id } from '../../generic/value.tsx';
import { useOlder } from '../../load-older.tsx';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { policies, POLL_MS } from './calls.ts';
import { Reasons } from './reasons.tsx';
import { GATE, OUTCOME, reasonsOf } from './words.ts';

interface DecisionsProps {
  readonly teamId: string;
  readonly policyId: string;
}

export function Decisions({ teamId, policyId }: DecisionsProps) {
  const readPart = async (cursor?: string) => {
    const page = await policies.decisionsPage(teamId, policyId, cursor === undefined ? {} : { cursor });
    return { items: page.decisions, nextCursor: page.nextCursor };
  };
  const first = useRead(`decisions ${policyId}`, async () => await readPart(), POLL_MS);
  const older = useOlder(readPart);
  const known = first.data.value;
  if (known === undefined) return <Unread of={first} what="the decisions" />;
  const { items, button } = older(known);
  if (items.length === 0)
    return (
      <div class="empty">
        <p>No decision yet. An enabled policy decides whenever somebody does what its document is on.</p>
      </div>
    );
  return (
    <>
      <StaleNotice of={first} />
      <Table
        caption="Decisions"
        columns={COLUMNS}
        rows={items}
        keyOf={({ id }) => id}
        isDoubtful={first.unknown.value !== undefined}
      />
      {button}
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<PolicyDecision>> = [
  { name: 'createdAt', label: 'When', show: ({ createdAt }) => <Ago at={createdAt} /> },
  { name: 'outcome', label: 'Outcome', show: ({ outcome }) => <Standing of={OUTCOME[outcome]} /> },
  { name: 'action', label: 'Action', show: ({ action }) => <code>{action}</code> },
  { name: 'subject', label: 'Subject', show: ({ subject }) => <Id of={subject} /> },
  { name: 'reasons', label: 'Reasons', show: (decision) => <Reasons of={reasonsOf(decision)} /> },
  {
    name: 'gateOutcome',
    label: 'Gate outcome',
    show: ({ gateOutcome }) => <Standing of={GATE[gateOutcome]} />,
  },
  { name: 'revision', label: 'Revision', show: ({ revision }) => `Revision ${revision}` },
];
