import type { ConsolePage } from '../../page.ts';
import { FeaturesPage } from './features-page.tsx';

export const featuresPage: ConsolePage = {
  path: 'features',
  title: 'Platform features',
  audience: 'staff',
  View: FeaturesPage,
};
