/** Shows what waits for the person in a team: approvals, confirmations, failures of their work, notices. */
import { Teams, type InboxItem } from '@svc/sdk';
import { client } from '../../api.ts';
import { useRead } from '../../cache.ts';
import { hrefOfKind } from '../../generic/hits.ts';
import { Table } from '../../generic/table.tsx';
import type { PageProps } from '../../page.ts';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';

const teams = new Teams(client);
const EVERY_MS = 15_000;

/** Holds what each reason says, and the kind of what it is about. */
const REASONS: Readonly<Record<string, readonly [words: string, kind: string]>> = {
  agent_approval: ['Act of an agent to approve', 'agent approval'],
  deploy_approval: ['Deployment to approve', 'build'],
  promotion_approval: ['Promotion to approve', 'promotion'],
  membership_confirmation: ['Member to confirm', 'invite'],
  build_failed: ['Build that failed', 'build'],
  notification: ['Notice', 'notification'],
};

export const reasonOf = ({ kind }: Pick<InboxItem, 'kind'>): string =>
  REASONS[kind]?.[0] ?? kind.replaceAll('_', ' ');

export function inboxHref(teamId: string, { kind, ...item }: InboxItem): string | undefined {
  const about = REASONS[kind]?.[1];
  return about === undefined ? undefined : hrefOfKind(teamId, { ...item, kind: about });
}

export function InboxPage({ place: { team } }: PageProps) {
  const teamId = team?.id ?? '';
  const read = useRead<readonly InboxItem[]>(
    `inbox ${teamId}`,
    async () => await teams.inbox(teamId),
    EVERY_MS,
  );
  const items = read.data.value;
  return (
    <>
      <h1>Inbox</h1>
      {items === undefined ? (
        <Unread of={read} what="the inbox" />
      ) : (
        <>
          <StaleNotice of={read} />
          {items.length === 0 ? (
            <div class="empty">
              <p>Nothing waits for you.</p>
              <p class="muted">Approvals, failures of your work and notices are listed here.</p>
            </div>
          ) : (
            <InboxTable teamId={teamId} items={items} />
          )}
        </>
      )}
    </>
  );
}

export function InboxTable({
  teamId,
  items,
}: {
  readonly teamId: string;
  readonly items: readonly InboxItem[];
}) {
  return (
    <Table
      caption="What waits for you"
      rows={items}
      keyOf={({ kind, id }) => `${kind} ${id}`}
      hrefOf={(item) => inboxHref(teamId, item)}
      columns={[
        { name: 'text', label: 'What', show: ({ text }) => <span class="brief">{text}</span> },
        { name: 'kind', label: 'Why', show: reasonOf },
        { name: 'since', label: 'Since', show: ({ since }) => <Ago at={since} /> },
      ]}
    />
  );
}
