import type { ConsolePage } from '../../page.ts';

export const homePage: ConsolePage = {
  path: '',
  title: 'Overview',
  audience: 'everybody',
  load: async () => (await import('./home.tsx')).Home,
};
