import type { ConsolePage } from '../../page.ts';

export const runnersPage: ConsolePage = {
  path: 'runners',
  title: 'Runners',
  audience: 'everybody',
  isThere: async () => await (await import('./calls.ts')).runnersAnswer(),
  load: async () => (await import('./runners-page.tsx')).RunnersPage,
};
