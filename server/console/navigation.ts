/** Lists what the sidebar shows at a place: pages made by hand and collections, by area. */
import { signal } from '@preact/signals';
import { client, ifMissing } from './api.ts';
import { entriesAt } from './generic/addresses.ts';
import { servicePages } from './gen/index.ts';
import { PAGES } from './pages/index.ts';
import { segment } from './place.ts';
import { mayIn, offers, onForget, type SignedIn } from './session.ts';
import type { At, Role } from './spec.ts';

export interface Link {
  readonly title: string;
  readonly href: string;
}

export interface Group {
  readonly title: string;
  readonly links: readonly Link[];
}

/** Areas in the order that people know them by. */
const AREAS = [
  'apps',
  'engine',
  'connect',
  'delivery',
  'operations',
  'marketplace',
  'money',
  'workspace',
  'access',
  'staff',
  'features',
];
/** The shell itself has a place for these: the palette searches, the inbox stands above the groups. */
const ELSEWHERE = ['search', 'inbox'];

/**
 * Internal features that answer: nobody is told of one that is off, so that it is in the navigation only when
 * a list of it was read.
 */
const answering = signal<ReadonlySet<string>>(new Set());
onForget(() => void (answering.value = new Set()));

/** Asks the features that the installation says nothing of. */
export async function askFeatures(teamId: string, { resolved }: SignedIn): Promise<void> {
  const lists = new Map(
    entriesAt('team').flatMap(({ feature, path, role }) =>
      feature === undefined || feature in resolved || !mayIn(teamId, role) ? [] : [[feature, path] as const],
    ),
  );
  const found = await Promise.all(
    [...lists].map(async ([feature, path]) => {
      const isThere = await ifMissing(
        false,
        async () => await client.call({ method: 'GET', path }, { teamId }),
      ).catch(() => false);
      return isThere === false ? [] : [feature];
    }),
  );
  answering.value = new Set([...answering.peek(), ...found.flat()]);
}

const titleOf = (area: string): string => `${area.charAt(0).toUpperCase()}${area.slice(1)}`;

interface Where {
  readonly at: At;
  readonly base: string;
  readonly teamId: string | undefined;
}

/** Each entry only if its feature is on and the person's role sees it. */
export function groupsAt({ at, base, teamId }: Where, who: SignedIn): readonly Group[] {
  const entries = entriesAt(at).filter(
    ({ segments }) => !segments.some((each) => each.startsWith('{') || ELSEWHERE.includes(each)),
  );
  const pages = PAGES.filter((page) => page.at === at && page.area !== undefined);
  const hrefOf = (segments: readonly string[]): string => [base, ...segments.map(segment)].join('/');
  const isShown = ({ feature, role }: { readonly feature?: string; readonly role?: Role }): boolean =>
    (feature === undefined || offers(who, feature) || answering.value.has(feature)) && mayIn(teamId, role);
  const byAddress = new Map(
    pages.map(({ area = '', ...page }) => [hrefOf(page.segments), { ...page, area }] as const),
  );
  // A page that is made by hand stands where its list does, and is for whom that is.
  const listed = entries.map((entry) => ({ ...entry, ...byAddress.get(hrefOf(entry.segments)) }));
  const known = new Set(listed.map(({ segments }) => hrefOf(segments)));
  const all = [
    ...listed,
    ...[...byAddress].flatMap(([href, page]) => (known.has(href) ? [] : [page])),
  ].filter(isShown);
  return AREAS.flatMap((area) => {
    const links = all
      .filter((each) => each.area === area)
      .map(({ title, segments }) => ({ title, href: hrefOf(segments) }));
    return links.length === 0 ? [] : [{ title: titleOf(area), links }];
  });
}

/** Pages of services whose calls belong to no collection. */
export const servicesAt = (at: At, base: string): readonly Link[] =>
  servicePages
    .filter((page) => page.at === at && !AUTOMATIC.includes(page.key))
    .map(({ key, title }) => ({ title, href: `${base}/${key.replace(`${at}-page-`, '')}` }));

/** The console makes these calls by itself, or machines make them. */
export const AUTOMATIC = [
  'account-page-auth',
  'account-page-ci',
  'account-page-platformFeatures',
  'staff-page-platformFeatures',
];
