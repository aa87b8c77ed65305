/** Shows any collection: its rows with filters and further pages, and what can be made in it. */
import { useSignal } from '@preact/signals';
import { sentence } from '../api.ts';
import { taken, useRead, type Input } from '../cache.ts';
import { useOlder } from '../load-older.tsx';
import { Notice } from '../notice.tsx';
import { Unread } from '../reading.tsx';
import { param, setParams } from '../router.ts';
import type { Collection, Entry, FieldSpec } from '../spec.ts';
import { StaleNotice } from '../stale-notice.tsx';
import { Acts } from './acts.tsx';
import { itemHref } from './addresses.ts';
import { requestOf } from './form-values.ts';
import { nameFirst, readPage, type Page } from './read-page.ts';
import { Table } from './table.tsx';
import { specAt, Value, valueAt } from './value.tsx';
import { Marked } from './marked.tsx';

interface CollectionViewProps {
  readonly entry: Entry;
  readonly collection: Collection;
  readonly given: Input;
  /** Address of the collection. */
  readonly href: string;
}

/** So many rows more are read at once where a list allows it. */
const GROWN_BY = 200;

export function CollectionView({ entry, collection, given, href }: CollectionViewProps) {
  const { list, acts } = collection;
  const fields = (list.fields ?? []).filter(({ name }) => !(name in given));
  const texts = Object.fromEntries(fields.map(({ name }) => [name, param(`f.${name}`) ?? '']));
  const { input, problems } = requestOf(fields, texts);
  const isReady = Object.keys(problems).length === 0;
  const asked = { ...taken(list, given), ...input };
  return (
    <>
      <div class="bar">
        <Filters fields={fields} texts={texts} />
        <Acts calls={acts} given={given} entry={entry} href={href} />
      </div>
      {isReady ? (
        <Rows key={JSON.stringify(asked)} asked={asked} {...{ entry, collection, given, href }} />
      ) : (
        <p class="muted">
          To be filled in first:{' '}
          {fields
            .filter(({ name }) => name in problems)
            .map(({ label }) => label)
            .join(', ')}
          .
        </p>
      )}
    </>
  );
}

function Rows({ entry, collection, href, asked }: CollectionViewProps & { readonly asked: Input }) {
  const { list, shown, noun } = collection;
  const first = useRead<Page>(
    `${list.operation.path} ${JSON.stringify(asked)}`,
    async () => await readPage(list.operation, asked, entry),
    20_000,
  );
  const { pageMax } = list;
  const more = pageMax === undefined ? asked : { ...asked, limit: Math.min(GROWN_BY, pageMax) };
  const older = useOlder(async (cursor) => await readPage(list.operation, { ...more, cursor }, entry), {
    grows: true,
  });
  const page = first.data.value;
  if (page === undefined) return <Unread of={first} what={`the list of ${noun}`} />;
  const { items, button } = older(page);
  const columns = nameFirst(list.columns ?? shown.slice(0, 5).map(({ name }) => name), entry.idField).filter(
    (name) => name !== 'teamId' || asked['teamId'] === undefined,
  );
  return (
    <>
      <StaleNotice of={first} />
      {page.problems.map((problem) => (
        <Notice key={problem} kind="warn">
          {sentence(problem)}
        </Notice>
      ))}
      {items.length === 0 ? (
        <Empty collection={collection} />
      ) : (
        <Table
          caption={entry.title}
          rows={items}
          keyOf={({ id }) => id}
          hrefOf={({ row }) => itemHref(entry, row, href)}
          isDoubtful={first.unknown.value !== undefined}
          columns={columns.map((name) => {
            const spec = specAt(shown, name);
            return {
              name,
              label: labelOf(shown, name, columns),
              show: ({ row }: Page['items'][number]) => <Value of={valueAt(row, name)} spec={spec} isBrief />,
            };
          })}
        />
      )}
      {button}
    </>
  );
}

/** A part of a column goes by the whole, too, where another column has the same label: `DNS state`. */
function labelOf(shown: Collection['shown'], path: string, columns: readonly string[]): string {
  const label = specAt(shown, path)?.label ?? path;
  const isTaken = columns.some((other) => other !== path && specAt(shown, other)?.label === label);
  const whole = specAt(shown, path.split('.').slice(0, -1).join('.'));
  return isTaken && whole !== undefined ? `${whole.label} ${label.toLowerCase()}` : label;
}

function Empty({ collection: { noun, list, acts } }: { readonly collection: Collection }) {
  const make = acts.find(({ kind, operation }) => kind === 'act' && operation.method !== 'DELETE');
  return (
    <div class="empty">
      <p>Nothing here yet: no {noun}.</p>
      <p class="muted">
        <Marked text={make?.help ?? list.help} />
      </p>
    </div>
  );
}

/** Filters are in the address, so that a link shows the same. */
function Filters({
  fields,
  texts,
}: {
  readonly fields: readonly FieldSpec[];
  readonly texts: Readonly<Record<string, string>>;
}) {
  const drafts = useSignal<Readonly<Record<string, string>>>({});
  if (fields.length === 0) return <span />;
  const apply = (name: string, text: string): void => setParams({ [`f.${name}`]: text });
  return (
    <form
      class="filters"
      role="search"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        setParams(
          Object.fromEntries(Object.entries(drafts.value).map(([name, text]) => [`f.${name}`, text])),
        );
      }}
    >
      {fields.map(({ name, label, values, help, type }) => (
        <label class="picker" key={name} title={help}>
          <span>{label}</span>
          {values !== undefined || type === 'boolean' ? (
            <select value={texts[name] ?? ''} onChange={(event) => apply(name, event.currentTarget.value)}>
              <option value="">All</option>
              {(values ?? ['true', 'false']).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          ) : (
            <input
              value={drafts.value[name] ?? texts[name] ?? ''}
              onInput={(event) => (drafts.value = { ...drafts.value, [name]: event.currentTarget.value })}
              onChange={(event) => apply(name, event.currentTarget.value)}
            />
          )}
        </label>
      ))}
    </form>
  );
}
