/** This page searches the audit ledger of a team, shows its entries, verifies it and exports it. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FieldSpec } from '../../spec.ts';
import { Button } from '../../button.tsx';
import { useRead } from '../../cache.ts';
import { collection } from '../../gen/team-audit.ts';
import { Table, type Column } from '../../generic/table.tsx';
import { shortened } from '../../generic/value.tsx';
import { useOlder } from '../../load-older.tsx';
import type { PageProps } from '../../page.ts';
import { Unread } from '../../reading.tsx';
import { hrefWith, param } from '../../router.ts';
import { StaleNotice } from '../../stale-notice.tsx';
import { Ago } from '../../time.tsx';
import { POLL_MS, readPart, type Entry } from './calls.ts';
import { EntryDrawer } from './entry-drawer.tsx';
import { Export } from './export.tsx';
import { clearFilter, filterOf, NAMES, setFilter, textsNow, type FilterName } from './filter.ts';
import { Verify } from './verify.tsx';

export function LedgerPage({ place: { team } }: PageProps) {
  if (team === undefined) return null;
  return (
    <>
      <div class="item-head">
        <h1>Audit ledger</h1>
      </div>
      <Ledger key={team.id} teamId={team.id} />
    </>
  );
}

function Ledger({ teamId }: { readonly teamId: string }) {
  const texts = textsNow();
  const seq = Number(param('entry') ?? Number.NaN);
  return (
    <>
      <p class="muted">
        Who changed what. Each entry carries the hash of the one before it, so that nothing can be changed or
        taken out unseen.
      </p>
      <div class="ledger-acts">
        <Verify teamId={teamId} />
        <Export teamId={teamId} />
      </div>
      <Filters texts={texts} />
      <Rows key={JSON.stringify(texts)} teamId={teamId} texts={texts} />
      {Number.isSafeInteger(seq) && seq > 0 && <EntryDrawer key={seq} teamId={teamId} seq={seq} />}
    </>
  );
}

type Texts = Readonly<Record<FilterName, string>>;

const fieldOf = (name: FilterName): FieldSpec | undefined =>
  collection.list.fields?.find((field) => field.name === name);

function Filters({ texts }: { readonly texts: Texts }) {
  const drafts = useSignal(texts);
  // The form stays as it is, with the focus, when the address changes.
  useEffect(() => void (drafts.value = texts), [JSON.stringify(texts)]);
  const isFiltered = NAMES.some((name) => texts[name] !== '');
  return (
    <form
      class="filters ledger-filters"
      role="search"
      aria-label="Search the ledger"
      onSubmit={(event) => {
        event.preventDefault();
        setFilter(drafts.value);
      }}
    >
      {NAMES.map((name) => (
        <label class="picker" key={name} title={fieldOf(name)?.help}>
          <span>{fieldOf(name)?.label ?? name}</span>
          <FilterInput
            name={name}
            value={drafts.value[name]}
            onText={(text) => (drafts.value = { ...drafts.value, [name]: text })}
          />
        </label>
      ))}
      <Button text="Search" submits />
      {isFiltered && <Button text="Clear" look="quiet" onClick={clearFilter} />}
    </form>
  );
}

interface FilterInputProps {
  readonly name: FilterName;
  readonly value: string;
  readonly onText: (text: string) => void;
}

function FilterInput({ name, value, onText }: FilterInputProps) {
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onText(event.currentTarget.value);
  if (name === 'since' || name === 'until')
    return <input type="datetime-local" value={value} onInput={onInput} />;
  const placeholder = name === 'action' ? 'policy.' : undefined;
  return <input autoComplete="off" spellcheck={false} {...{ placeholder, value, onInput }} />;
}

interface RowsProps {
  readonly teamId: string;
  readonly texts: Texts;
}

function Rows({ teamId, texts }: RowsProps) {
  const filter = filterOf(texts);
  const first = useRead(
    `ledger ${teamId} ${JSON.stringify(filter)}`,
    async () => await readPart(teamId, filter),
    POLL_MS,
  );
  const older = useOlder(async (cursor) => await readPart(teamId, filter, cursor));
  const known = first.data.value;
  if (known === undefined) return <Unread of={first} what="the ledger" />;
  const { items, button } = older(known);
  return (
    <>
      <StaleNotice of={first} />
      {items.length === 0 ? (
        <div class="empty">
          <p>{button === false ? 'No such entry.' : 'No such entry among the newest ones.'}</p>
        </div>
      ) : (
        <Table
          caption="Entries of the ledger"
          columns={COLUMNS}
          rows={items}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => hrefWith({ entry: id })}
          isDoubtful={first.unknown.value !== undefined}
        />
      )}
      {button}
    </>
  );
}

const COLUMNS: ReadonlyArray<Column<Entry>> = [
  { name: 'seq', label: 'Place', show: ({ seq }) => seq.toLocaleString('en') },
  { name: 'at', label: 'When', show: ({ at }) => <Ago at={at} /> },
  { name: 'action', label: 'Action', show: ({ action }) => <code>{action}</code> },
  {
    name: 'target',
    label: 'Target',
    show: ({ target }) => (
      <code class="brief" title={target}>
        {shortened(target)}
      </code>
    ),
  },
  {
    name: 'actor',
    label: 'Actor',
    show: ({ actor: { display, id } }) => (
      <span class="brief" title={id}>
        {display === '' ? id : display}
      </span>
    ),
  },
];
