/** Lists the pages that are made by hand. */
import type { ConsolePage } from '../page.ts';

const runners = async () => (await import('./runners/runners-page.tsx')).RunnersPage;
const builds = async () => (await import('./builds/builds-page.tsx')).BuildsPage;
const policy = async () => (await import('./policies/policy-page.tsx')).PolicyPage;

export const PAGES: readonly ConsolePage[] = [
  {
    at: 'team',
    segments: [],
    title: 'Overview',
    load: async () => (await import('./home/home.tsx')).Home,
  },
  {
    at: 'team',
    segments: ['sandbox-runs'],
    title: 'Runs',
    area: 'engine',
    load: async () => (await import('./runs/runs-page.tsx')).RunsPage,
  },
  {
    at: 'team',
    segments: ['sandbox-runs', '*'],
    title: 'Run',
    load: async () => (await import('./runs/run-page.tsx')).RunPage,
  },
  {
    at: 'team',
    segments: ['inbox'],
    title: 'Inbox',
    load: async () => (await import('./inbox/inbox-page.tsx')).InboxPage,
  },
  {
    at: 'team',
    segments: ['projects'],
    title: 'Projects',
    area: 'apps',
    load: async () => (await import('./places/projects-page.tsx')).ProjectsPage,
  },
  {
    at: 'project',
    segments: [],
    title: 'Overview',
    load: async () => (await import('./places/project-page.tsx')).ProjectPage,
  },
  {
    at: 'environment',
    segments: [],
    title: 'Overview',
    load: async () => (await import('./places/environment-page.tsx')).EnvironmentPage,
  },
  {
    at: 'environment',
    segments: ['variables'],
    title: 'Variables',
    area: 'apps',
    load: async () => (await import('./places/variables-page.tsx')).VariablesPage,
  },
  {
    at: 'environment',
    segments: ['build-steps'],
    title: 'Build steps',
    area: 'apps',
    load: async () => (await import('./places/build-steps-page.tsx')).BuildStepsPage,
  },
  {
    at: 'team',
    segments: ['runners'],
    title: 'Runners',
    area: 'engine',
    feature: 'host.runners',
    load: runners,
  },
  { at: 'team', segments: ['runners', '*'], title: 'Runners', load: runners },
  { at: 'environment', segments: ['builds'], title: 'Builds', area: 'engine', load: builds },
  { at: 'environment', segments: ['builds', '*'], title: 'Builds', load: builds },
  {
    at: 'environment',
    segments: ['timeline'],
    title: 'Timeline',
    area: 'connect',
    load: async () => (await import('./timeline/timeline-page.tsx')).TimelinePage,
  },
  {
    at: 'project',
    segments: ['releases'],
    title: 'Releases',
    area: 'delivery',
    load: async () => (await import('./releases/releases-page.tsx')).ReleasesPage,
  },
  {
    at: 'team',
    segments: ['policies'],
    title: 'Policies',
    area: 'delivery',
    load: async () => (await import('./policies/policies-page.tsx')).PoliciesPage,
  },
  {
    at: 'team',
    segments: ['policies', 'new'],
    title: 'Create policy',
    load: async () => (await import('./policies/new-policy-page.tsx')).NewPolicyPage,
  },
  { at: 'team', segments: ['policies', '*'], title: 'Policies', load: policy },
  { at: 'team', segments: ['policies', '*', 'decisions'], title: 'Policies', load: policy },
  {
    at: 'team',
    segments: ['audit'],
    title: 'Audit ledger',
    area: 'access',
    load: async () => (await import('./ledger/ledger-page.tsx')).LedgerPage,
  },
  {
    at: 'team',
    segments: ['costs'],
    title: 'Costs',
    area: 'money',
    load: async () => (await import('./costs/costs-page.tsx')).CostsPage,
  },
  {
    at: 'team',
    segments: ['statements'],
    title: 'Statements',
    area: 'money',
    load: async () => (await import('./costs/statements-page.tsx')).StatementsPage,
  },
  {
    at: 'team',
    segments: ['statements', '*'],
    title: 'Statements',
    load: async () => (await import('./costs/statement-page.tsx')).StatementPage,
  },
  {
    at: 'team',
    segments: ['statements', '*', '*'],
    title: 'Statements',
    load: async () => (await import('./costs/day-page.tsx')).DayPage,
  },
  {
    at: 'team',
    segments: ['statements', '*', '*', '*'],
    title: 'Statements',
    load: async () => (await import('./costs/receipt-page.tsx')).ReceiptPage,
  },
  {
    at: 'staff',
    segments: ['platform-features'],
    title: 'Platform features',
    area: 'staff',
    load: async () => (await import('./features/features-page.tsx')).FeaturesPage,
  },
];
