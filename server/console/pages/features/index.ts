import type { ConsolePage } from '../../page.ts';

export const featuresPage: ConsolePage = {
  path: 'features',
  title: 'Platform features',
  audience: 'staff',
  load: async () => (await import('./features-page.tsx')).FeaturesPage,
};
