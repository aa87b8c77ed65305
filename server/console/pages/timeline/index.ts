import type { ConsolePage } from '../../page.ts';

export const timelinePage: ConsolePage = {
  path: 'timeline',
  title: 'Timeline',
  audience: 'everybody',
  load: async () => (await import('./timeline-page.tsx')).TimelinePage,
};
