import type { ConsolePage } from '../../page.ts';

export const buildsPage: ConsolePage = {
  path: 'builds',
  title: 'Builds',
  audience: 'everybody',
  load: async () => (await import('./builds-page.tsx')).BuildsPage,
};
