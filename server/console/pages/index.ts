/** Lists the pages, in the order of the navigation. */
import type { ConsolePage } from '../page.ts';
import { buildsPage } from './builds/index.ts';
import { costsPage } from './costs/index.ts';
import { featuresPage } from './features/index.ts';
import { homePage } from './home/index.ts';
import { releasesPage } from './releases/index.ts';
import { runnersPage } from './runners/index.ts';
import { timelinePage } from './timeline/index.ts';

export const HOME: ConsolePage = homePage;

export const PAGES: readonly ConsolePage[] = [
  featuresPage,
  runnersPage,
  buildsPage,
  releasesPage,
  timelinePage,
  costsPage,
];
