/** This page lists projects of a team, newest first, and leads to a new one. */
import type { Project } from '@svc/sdk';
import { useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { collection } from '../../gen/team-projects.ts';
import { entries } from '../../gen/index.ts';
import { Acts } from '../../generic/acts.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { useOlder } from '../../load-older.tsx';
import type { PageProps } from '../../page.ts';
import { projectHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { POLL_MS, projects } from './calls.ts';

const PAGE = 50;
const COLUMNS: ReadonlyArray<Column<Project>> = [
  { name: 'name', label: 'Name', show: ({ name }) => <Brief of={name} /> },
  { name: 'slug', label: 'Slug', show: ({ slug }) => <Brief of={slug} /> },
  { name: 'createdAt', label: 'Created', show: ({ createdAt }) => <Ago at={createdAt} /> },
];

const Brief = ({ of }: { readonly of: string }) => (
  <span class="brief" title={of}>
    {of}
  </span>
);

export function ProjectsPage({ place: { team } }: PageProps) {
  return team === undefined ? null : <List key={team.id} teamId={team.id} />;
}

/** The act that leads to the page of what it made. */
function Create({ teamId }: { readonly teamId: string }) {
  const entry = entries.find(({ key }) => key === 'team-projects');
  return <Acts calls={collection.acts} given={{ teamId }} {...(entry && { entry })} />;
}

async function readPart(teamId: string, cursor?: string) {
  const page = await projects.listPage({ teamId, limit: PAGE, ...(cursor !== undefined && { cursor }) });
  return { items: page.projects, nextCursor: page.nextCursor };
}

function List({ teamId }: { readonly teamId: string }) {
  const first = useRead(`projects ${teamId}`, async () => await readPart(teamId), POLL_MS);
  const older = useOlder(async (cursor) => await readPart(teamId, cursor));
  const known = first.data.value;
  const { items, button } = older(known ?? { items: [], nextCursor: undefined });
  return (
    <>
      <div class="item-head">
        <h1>Projects</h1>
        {items.length > 0 && <Create teamId={teamId} />}
      </div>
      {known === undefined ? (
        <Unread of={first} what="the projects" />
      ) : items.length === 0 ? (
        <div class="empty empty-place">
          <p>No project yet: one holds the environments in which an app is built and runs.</p>
          <Create teamId={teamId} />
          <CopyLine name="the command" text={`svc projects create web --team ${teamId}`} />
        </div>
      ) : (
        <>
          <StaleNotice of={first} />
          <Table
            caption="Projects"
            columns={COLUMNS}
            rows={items}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => projectHref(id)}
            isDoubtful={first.unknown.value !== undefined}
          />
        </>
      )}
      {button}
    </>
  );
}
