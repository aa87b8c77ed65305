import type { ConsolePage } from '../../page.ts';
import { Home } from './home.tsx';

export const homePage: ConsolePage = { path: '', title: 'Overview', audience: 'everybody', View: Home };
