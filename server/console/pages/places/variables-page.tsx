/** This page adds, changes and deletes variables of an environment; many come from a `.env` text. */
import { useSignal, type Signal } from '@preact/signals';
import type { Environment, Variable } from '@svc/sdk';
import { Ask } from '../../ask.tsx';
import { Button } from '../../button.tsx';
import { invalidate, useRead } from '../../cache.ts';
import { CopyLine } from '../../copy.tsx';
import { Table, type Column } from '../../generic/table.tsx';
import type { PageProps } from '../../page.ts';
import { ForRole } from '../../parts/role.tsx';
import { Unread } from '../../reading.tsx';
import { mayIn } from '../../session.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { POLL_MS, variables } from './calls.ts';
import { PasteDialog } from './paste-dialog.tsx';
import { VariableDialog } from './variable-dialog.tsx';

type Open =
  | { readonly kind: 'add' }
  | { readonly kind: 'paste' }
  | { readonly kind: 'edit' | 'delete'; readonly variable: Variable };

export function VariablesPage({ place: { environment } }: PageProps) {
  return environment === undefined ? null : <List key={environment.id} environment={environment} />;
}

function List({ environment: { id, name, teamId } }: { readonly environment: Environment }) {
  const read = useRead(`variables ${id}`, async () => await variables.list(id), POLL_MS);
  const open = useSignal<Open | undefined>(undefined);
  const known = read.data.value;
  const acts = (
    <ForRole teamId={teamId} least="developer" acts="Add, change and delete variables">
      <div class="bar-buttons">
        <Button text="Paste a .env" onClick={() => (open.value = { kind: 'paste' })} />
        <Button text="Add variable" look="primary" onClick={() => (open.value = { kind: 'add' })} />
      </div>
    </ForRole>
  );
  return (
    <>
      <div class="item-head">
        <h1>Variables</h1>
        {known !== undefined && known.length > 0 && acts}
      </div>
      {known === undefined ? (
        <Unread of={read} what="the variables" />
      ) : known.length === 0 ? (
        <div class="empty empty-place">
          <p>No variable yet: builds of {name}, and what they deploy, find them in their environment.</p>
          {acts}
          <CopyLine name="the command" text={`svc variables set-many ${id} --variable-file .env`} />
        </div>
      ) : (
        <>
          <StaleNotice of={read} />
          <Table
            caption={`Variables of ${name}`}
            columns={mayIn(teamId, 'developer') ? [...COLUMNS, actsOf(open)] : COLUMNS}
            rows={known}
            keyOf={(each) => each.id}
            isDoubtful={read.unknown.value !== undefined}
          />
        </>
      )}
      {open.value !== undefined && (
        <Dialog
          open={open.value}
          environmentId={id}
          known={known ?? []}
          onClose={() => (open.value = undefined)}
        />
      )}
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<Variable>> = [
  {
    name: 'name',
    label: 'Name',
    show: ({ name }) => (
      <code class="brief" title={name}>
        {name}
      </code>
    ),
  },
  {
    name: 'value',
    label: 'Value',
    show: ({ value, secret }) =>
      secret || value === undefined ? (
        <span class="muted">Hidden</span>
      ) : (
        <span class="brief" title={value}>
          {value === '' ? <span class="muted">Empty</span> : value}
        </span>
      ),
  },
  { name: 'secret', label: 'Kind', show: ({ secret }) => (secret ? 'Secret' : 'Plain') },
  { name: 'updatedAt', label: 'Changed', show: ({ updatedAt }) => <Ago at={updatedAt} /> },
];

const actsOf = (open: Signal<Open | undefined>): Column<Variable> => ({
  name: 'acts',
  label: 'Acts',
  show: (variable) => (
    <span class="row-acts">
      <Button
        text="Edit"
        look="small"
        label={`Edit ${variable.name}`}
        onClick={() => (open.value = { kind: 'edit', variable })}
      />
      <Button
        text="Delete"
        look="small"
        label={`Delete ${variable.name}`}
        onClick={() => (open.value = { kind: 'delete', variable })}
      />
    </span>
  ),
});

interface DialogProps {
  readonly open: Open;
  readonly environmentId: string;
  readonly known: readonly Variable[];
  readonly onClose: () => void;
}

function Dialog({ open, environmentId, known, onClose }: DialogProps) {
  if (open.kind === 'paste')
    return <PasteDialog environmentId={environmentId} known={known} onClose={onClose} />;
  if (open.kind === 'add') return <VariableDialog environmentId={environmentId} onClose={onClose} />;
  if (open.kind === 'edit')
    return <VariableDialog environmentId={environmentId} variable={open.variable} onClose={onClose} />;
  const { id, name } = open.variable;
  const remove = async (): Promise<string> => {
    await variables.delete(environmentId, id, name);
    invalidate();
    return `${name} is deleted.`;
  };
  return (
    <Ask title="Delete the variable?" verb="Delete" danger act={remove} onClose={onClose}>
      <p>
        The next build no longer has <code>{name}</code>. What runs now keeps it until the next deploy.
      </p>
    </Ask>
  );
}
