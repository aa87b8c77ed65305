/** This page lists policies of a team, and leads to a new one. */
import type { Policy } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { Standing } from '../../fact.tsx';
import { Table } from '../../generic/table.tsx';
import type { PageProps } from '../../page.ts';
import { Unread } from '../../reading.tsx';
import { teamHref } from '../../place.ts';
import { follow } from '../../router.ts';
import { isAdmin, roleIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { policies, POLL_MS } from './calls.ts';
import { readScopes, Scope, type Scopes } from './scopes.tsx';
import { standing } from './words.ts';

export function PoliciesPage({ place: { team }, session }: PageProps) {
  return team === undefined ? null : (
    <List key={team.id} teamId={team.id} isManager={isAdmin(roleIn(session, team.id))} />
  );
}

interface ListProps {
  readonly teamId: string;
  readonly isManager: boolean;
}

interface Known {
  readonly all: readonly Policy[];
  readonly scopes: Scopes;
}

function List({ teamId, isManager }: ListProps) {
  const read = useRead<Known>(
    `policies ${teamId}`,
    async () => {
      const all = await policies.list(teamId);
      return { all, scopes: await readScopes(teamId, all) };
    },
    POLL_MS,
  );
  const known = read.data.value;
  const create = isManager && (
    <a class="button button-primary" href={teamHref(teamId, 'policies', 'new')} onClick={follow}>
      Create policy
    </a>
  );
  return (
    <>
      <div class="item-head">
        <h1>Policies</h1>
        {known !== undefined && known.all.length > 0 && create}
      </div>
      {known === undefined ? (
        <Unread of={read} what="the policies" />
      ) : known.all.length === 0 ? (
        <div class="empty empty-place">
          <p>No policy yet: one is rules that builds, releases, promotions and deploys must keep.</p>
          {create}
          <CopyLine
            name="the command"
            text={`svc policies create main-only --team ${teamId} --document policy.yaml`}
          />
        </div>
      ) : (
        <>
          <StaleNotice of={read} />
          <Rows teamId={teamId} of={known} isDoubtful={read.unknown.value !== undefined} />
        </>
      )}
    </>
  );
}

interface RowsProps {
  readonly teamId: string;
  readonly of: Known;
  readonly isDoubtful: boolean;
}

const Rows = ({ teamId, of: { all, scopes }, isDoubtful }: RowsProps) => (
  <Table<Policy>
    caption="Policies"
    rows={all}
    keyOf={({ id }) => id}
    hrefOf={({ id }) => teamHref(teamId, 'policies', id)}
    isDoubtful={isDoubtful}
    columns={[
      {
        name: 'name',
        label: 'Name',
        show: ({ name }) => (
          <span class="brief" title={name}>
            {name}
          </span>
        ),
      },
      { name: 'enabled', label: 'State', show: (policy) => <Standing of={standing(policy)} /> },
      { name: 'scope', label: 'About', show: (policy) => <Scope of={policy} among={scopes} /> },
      { name: 'revision', label: 'Revision', show: ({ revision }) => `Revision ${revision}` },
      { name: 'createdAt', label: 'Created', show: ({ createdAt }) => <Ago at={createdAt} /> },
    ]}
  />
);
