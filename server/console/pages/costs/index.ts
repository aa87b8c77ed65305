import type { ConsolePage } from '../../page.ts';

export const costsPage: ConsolePage = {
  path: 'costs',
  title: 'Costs',
  audience: 'everybody',
  isThere: async () => await (await import('./calls.ts')).hasTeam(),
  load: async () => (await import('./costs-page.tsx')).CostsPage,
};
