/** Shows any item: what is known of it, what can be done with it, and its parts, each at an address. */
import { client, ifMissing } from '../api.ts';
import { taken, useRead } from '../cache.ts';
import { Fetched } from '../fetched.tsx';
import { Missing } from '../missing.tsx';
import { Unread } from '../reading.tsx';
import { follow, navigate } from '../router.ts';
import { mayIn } from '../session.ts';
import { StaleNotice } from '../stale-notice.tsx';
import { useTitlePart } from '../title.ts';
import { segment } from '../place.ts';
import type { CallSpec, Collection, Entry } from '../spec.ts';
import { Acts } from './acts.tsx';
import { idOf, partsOf, type FoundPlace } from './addresses.ts';
import { CollectionView } from './collection-view.tsx';
import { nameOf, readPage } from './read-page.ts';
import { Look } from './look.tsx';
import { onceEach } from './once-each.ts';
import { Facts, isId, isRow, shortened } from './value.tsx';

interface ItemPageProps {
  readonly found: FoundPlace;
  readonly collection: Collection;
  /** Address of the item, and the one that it leaves behind when it is gone. */
  readonly here: string;
  readonly after: string;
}

/** The list is searched for what no call answers alone, which is short wherever that is so. */
const PAGES_MAX = 20;

async function readItem(
  { entry, given, itemId = '' }: FoundPlace,
  { get, list }: Collection,
): Promise<unknown> {
  if (get !== undefined)
    return await ifMissing(
      undefined,
      async () =>
        await client.call<unknown>(get.operation, taken(get, { ...given, [entry.idField ?? 'id']: itemId })),
    );
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await readPage(list.operation, { ...taken(list, given), cursor }, entry);
    const found = page.items.find(({ row }) => idOf(entry, row) === itemId);
    if (found !== undefined || page.nextCursor === undefined) return found?.row;
    cursor = page.nextCursor;
  }
  return undefined;
}

export function ItemPage({ found, collection, here, after }: ItemPageProps) {
  const { entry, given, itemId = '', tab } = found;
  const read = useRead<{ item: unknown }>(
    `item ${entry.key} ${JSON.stringify(given)} ${itemId}`,
    async () => ({ item: await readItem(found, collection) }),
    20_000,
  );
  const known = read.data.value;
  const name = nameOf(known?.item, itemId);
  useTitlePart(known?.item === undefined ? undefined : name);
  if (known === undefined) return <Unread of={read} what={`the ${collection.noun}`} />;
  if (known.item === undefined) return <Missing />;
  const own = { ...given, ...(entry.idField !== undefined && { [entry.idField]: itemId }) };
  const looks = collection.itemActs.filter(
    ({ kind, role }) => (kind === 'look' || kind === 'download') && mayIn(own['teamId'], role),
  );
  const parts = partsOf(entry).filter(({ role }) => mayIn(own['teamId'], role));
  return (
    <>
      <StaleNotice of={read} />
      <div class="item-head">
        <h1>{isId(name) ? `${collection.noun} ${shortened(name)}` : name}</h1>
        <Acts
          calls={collection.itemActs}
          given={own}
          entry={entry}
          item={known.item}
          name={isId(name) ? '' : name}
          onGone={() => navigate(after)}
        />
      </div>
      <Tabs here={here} tab={tab} parts={parts} looks={looks} />
      <Content {...{ entry, looks, tab, own, here }} item={known.item} collection={collection} />
    </>
  );
}

const tabOf = ({ operation: { path } }: CallSpec): string => path.slice(path.lastIndexOf('/') + 1);

interface TabsProps {
  readonly here: string;
  readonly tab: string | undefined;
  readonly parts: readonly Entry[];
  readonly looks: readonly CallSpec[];
}

function Tabs({ here, tab, parts, looks }: TabsProps) {
  const all = [
    { at: undefined, title: 'Details' },
    ...parts.map(({ segments, title }) => ({ at: segments[0], title })),
    ...looks.map((call) => ({ at: tabOf(call), title: call.title })),
  ];
  if (all.length === 1) return null;
  return (
    <nav class="tabs" aria-label="Parts">
      {all.map(({ at, title }) => (
        <a
          key={at ?? ''}
          href={at === undefined ? here : `${here}/${segment(at)}`}
          aria-current={at === tab ? 'page' : undefined}
          onClick={follow}
        >
          {title}
        </a>
      ))}
    </nav>
  );
}

interface ContentProps {
  readonly entry: Entry;
  readonly looks: readonly CallSpec[];
  readonly tab: string | undefined;
  readonly own: Readonly<Record<string, string>>;
  readonly here: string;
  readonly item: unknown;
  readonly collection: Collection;
}

function Content({ entry, looks, tab, own, here, item, collection }: ContentProps) {
  if (tab === undefined) return isRow(item) ? <Facts of={item} shown={collection.shown} /> : null;
  const part = partsOf(entry).find(({ segments }) => segments[0] === tab);
  if (part !== undefined)
    return (
      <Fetched
        key={part.key}
        load={viewOf(part)}
        props={{ entry: part, given: own, href: `${here}/${segment(tab)}` }}
      />
    );
  const look = looks.find((call) => tabOf(call) === tab);
  return look === undefined ? <Missing /> : <Look key={look.id} call={look} given={own} />;
}

type PartProps = Pick<Parameters<typeof CollectionView>[0], 'entry' | 'given' | 'href'>;

export const viewOf = onceEach((entry: Entry) => async () => {
  const collection = await entry.load();
  return (props: PartProps) => <CollectionView collection={collection} {...props} />;
});
