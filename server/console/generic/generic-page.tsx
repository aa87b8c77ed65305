/** Shows what has no page made by hand: a collection, an item or the calls of a service. */
import { Fetched } from '../fetched.tsx';
import { servicePages } from '../gen/index.ts';
import { Missing } from '../missing.tsx';
import type { PageProps } from '../page.ts';
import { segment } from '../place.ts';
import { mayIn } from '../session.ts';
import type { Collection, Entry, PageEntry, ServicePage } from '../spec.ts';
import { Acts } from './acts.tsx';
import { find, givenBy, type FoundPlace } from './addresses.ts';
import { CollectionView } from './collection-view.tsx';
import { ItemPage } from './item-page.tsx';
import { Look } from './look.tsx';
import { onceEach } from './once-each.ts';

export function GenericPage({ place }: PageProps) {
  const found = find(place);
  if (found !== undefined)
    return (
      <Fetched
        key={`${found.href} ${found.itemId ?? ''}`}
        load={collectionPage(found.entry)}
        props={{ found }}
      />
    );
  const [first] = place.rest;
  const page = servicePages.find(({ key, at }) => at === place.at && key === `${at}-page-${first}`);
  if (page === undefined || place.rest.length > 1) return <Missing />;
  return <Fetched key={page.key} load={serviceView(page)} props={{ given: givenBy(place) }} />;
}

const collectionPage = onceEach((entry: Entry) => async () => {
  const collection = await entry.load();
  return ({ found }: { readonly found: FoundPlace }) => (
    <CollectionPage found={found} collection={collection} />
  );
});

function CollectionPage({
  found,
  collection,
}: {
  readonly found: FoundPlace;
  readonly collection: Collection;
}) {
  const { entry, given, itemId, href } = found;
  if (itemId !== undefined)
    return (
      <ItemPage found={found} collection={collection} here={`${href}/${segment(itemId)}`} after={href} />
    );
  return (
    <>
      <h1>{entry.title}</h1>
      <CollectionView entry={entry} collection={collection} given={given} href={href} />
    </>
  );
}

type GivenIds = Readonly<Record<string, string>>;

const serviceView = onceEach((page: PageEntry) => async () => {
  const service = await page.load();
  return ({ given }: { readonly given: GivenIds }) => (
    <ServiceView title={page.title} service={service} given={given} />
  );
});

function ServiceView({
  title,
  service,
  given,
}: {
  readonly title: string;
  readonly service: ServicePage;
  readonly given: GivenIds;
}) {
  const { acts } = service;
  return (
    <>
      <h1>{title}</h1>
      <div class="bar">
        <Acts calls={acts} given={given} />
      </div>
      {acts
        .filter(({ kind, role }) => (kind === 'look' || kind === 'download') && mayIn(given['teamId'], role))
        .map((call) => (
          <section key={call.id}>
            <h2>{call.title}</h2>
            <Look call={call} given={given} />
          </section>
        ))}
    </>
  );
}
