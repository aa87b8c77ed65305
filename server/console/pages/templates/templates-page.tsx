/** This page lists templates of a team and public ones, and deploys them with values for their variables. */
import { useSignal, type Signal } from '@preact/signals';
import type { Template } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { entries } from '../../gen/index.ts';
import { collection } from '../../gen/team-templates.ts';
import { Acts } from '../../generic/acts.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import { State } from '../../generic/value.tsx';
import type { PageProps } from '../../page.ts';
import { teamHref } from '../../place.ts';
import { Unread } from '../../reading.tsx';
import { mayIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { POLL_MS, templates } from './calls.ts';
import { DeployDialog } from './deploy-dialog.tsx';

/** A team has no more; public ones of others are the newest. */
const TEMPLATES_MAX = 200;

export function TemplatesPage({ place: { team } }: PageProps) {
  return team === undefined ? null : <List key={team.id} teamId={team.id} />;
}

/** Reads those of the team, and behind them what others have published. */
async function readAll(teamId: string): Promise<readonly Template[]> {
  const [own, seen] = await Promise.all([
    templates.list({ teamId, limit: TEMPLATES_MAX }),
    templates.listPage({ limit: TEMPLATES_MAX }),
  ]);
  const others = seen.templates.filter(
    (each) => each.visibility === 'public' && !own.some(({ id }) => id === each.id),
  );
  return [...own, ...others];
}

function Create({ teamId }: { readonly teamId: string }) {
  const entry = entries.find(({ key }) => key === 'team-templates');
  return <Acts calls={collection.acts} given={{ teamId }} {...(entry && { entry })} />;
}

function List({ teamId }: { readonly teamId: string }) {
  const read = useRead(`templates ${teamId}`, async () => await readAll(teamId), POLL_MS);
  const deploying = useSignal<Template | undefined>(undefined);
  const known = read.data.value;
  return (
    <>
      <div class="item-head">
        <h1>Templates</h1>
        {known !== undefined && known.length > 0 && <Create teamId={teamId} />}
      </div>
      {known === undefined ? (
        <Unread of={read} what="the templates" />
      ) : known.length === 0 ? (
        <div class="empty empty-place">
          <p>No template yet: one is a recipe by which others deploy what works in an environment.</p>
          <Create teamId={teamId} />
          <CopyLine
            name="the command"
            text="svc templates create-from-environment <environment> --name 'Web shop'"
          />
        </div>
      ) : (
        <>
          <StaleNotice of={read} />
          <Table
            caption="Templates"
            columns={mayIn(teamId, 'developer') ? [...COLUMNS, deployOf(deploying)] : COLUMNS}
            rows={known}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => teamHref(teamId, 'templates', id)}
            isDoubtful={read.unknown.value !== undefined}
          />
        </>
      )}
      {deploying.value !== undefined && (
        <DeployDialog
          teamId={teamId}
          templateId={deploying.value.id}
          onClose={() => (deploying.value = undefined)}
        />
      )}
    </>
  );
}

const Brief = ({ of }: { readonly of: string }) => (
  <span class="brief" title={of}>
    {of}
  </span>
);

const COLUMNS: ReadonlyArray<Column<Template>> = [
  { name: 'name', label: 'Name', show: ({ name }) => <Brief of={name} /> },
  { name: 'description', label: 'Description', show: ({ description }) => <Brief of={description} /> },
  { name: 'repository', label: 'Repository', show: ({ repository }) => <Brief of={repository} /> },
  {
    name: 'visibility',
    label: 'Seen by',
    show: ({ visibility }) => (visibility === 'public' ? 'Everybody' : 'The team'),
  },
  { name: 'syncState', label: 'Repository read', show: ({ syncState }) => <State of={syncState} /> },
];

const deployOf = (deploying: Signal<Template | undefined>): Column<Template> => ({
  name: 'acts',
  label: 'Acts',
  show: (template) => (
    <span class="row-acts">
      <Button
        text="Deploy"
        look="small"
        label={`Deploy ${template.name}`}
        onClick={() => (deploying.value = template)}
      />
    </span>
  ),
});
