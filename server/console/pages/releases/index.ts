import type { ConsolePage } from '../../page.ts';

export const releasesPage: ConsolePage = {
  path: 'releases',
  title: 'Releases',
  audience: 'everybody',
  load: async () => (await import('./releases-page.tsx')).ReleasesPage,
};
