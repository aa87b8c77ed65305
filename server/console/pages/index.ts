/** Lists the pages, in the order of the navigation. */
import type { ConsolePage } from '../page.ts';

export const HOME: ConsolePage = {
  path: '',
  title: 'Overview',
  audience: 'everybody',
  load: async () => (await import('./home/home.tsx')).Home,
};

export const PAGES: readonly ConsolePage[] = [
  {
    path: 'features',
    title: 'Platform features',
    audience: 'staff',
    load: async () => (await import('./features/features-page.tsx')).FeaturesPage,
  },
  {
    path: 'runners',
    title: 'Runners',
    audience: 'everybody',
    isThere: async () => await (await import('./runners/calls.ts')).runnersAnswer(),
    load: async () => (await import('./runners/runners-page.tsx')).RunnersPage,
  },
  {
    path: 'builds',
    title: 'Builds',
    audience: 'everybody',
    load: async () => (await import('./builds/builds-page.tsx')).BuildsPage,
  },
  {
    path: 'releases',
    title: 'Releases',
    audience: 'everybody',
    load: async () => (await import('./releases/releases-page.tsx')).ReleasesPage,
  },
  {
    path: 'timeline',
    title: 'Timeline',
    audience: 'everybody',
    load: async () => (await import('./timeline/timeline-page.tsx')).TimelinePage,
  },
  {
    path: 'costs',
    title: 'Costs',
    audience: 'everybody',
    isThere: async () => await (await import('./costs/calls.ts')).hasTeam(),
    load: async () => (await import('./costs/costs-page.tsx')).CostsPage,
  },
];
