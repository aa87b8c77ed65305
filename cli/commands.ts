/** The hand-written commands by their words; each is loaded when it is asked for. */
import type { GeneratedSpec, Own } from './shell/command.ts';

export interface HandWritten {
  readonly summary: string;
  /** The generated command that it stands over, where that has another name. */
  readonly from?: string;
  /** It is for programs, and in no list of commands. */
  readonly isHidden?: true;
  /** A function stands over a generated command, and is given it. */
  readonly load: () => Promise<Own | ((generated: GeneratedSpec) => Own)>;
}

/** Summaries of the groups that have no generated command. */
export const groupSummaries: Readonly<Record<string, { readonly summary: string; readonly area?: string }>> =
  {
    api: { summary: 'Call any path of the API' },
    auth: { summary: 'Sign in and out, and see as whom', area: 'access' },
    completion: { summary: 'Completion for your shell' },
    failures: { summary: 'Why builds and runs fail, and what helps', area: 'operations' },
    login: { summary: 'Sign in', area: 'access' },
    logs: { summary: 'Output of a run', area: 'engine' },
    open: { summary: 'The console in the browser', area: 'access' },
    status: { summary: 'What commands work with, and why', area: 'access' },
    use: { summary: 'Choose the team, project and environment that commands work in', area: 'access' },
    version: { summary: 'The version of this program' },
    whoami: { summary: 'The account in use', area: 'access' },
  };

export const handWritten: Readonly<Record<string, HandWritten>> = {
  'admin-audit verify': {
    summary: 'Recomputes every ledger of the installation; ends with 1 when one is not intact',
    load: async () => (await import('./audit/verify.ts')).verifyAll,
  },
  'agents approvals approve': {
    summary: 'Shows what an agent asks for, asks, and approves exactly that',
    from: 'agents approvals get',
    load: async () => (await import('./agents/approve.ts')).approve,
  },
  'agents key': {
    summary: 'Issues a key of an agent, and runs a program with it',
    from: 'agents issue-key',
    load: async () => (await import('./agents/key.ts')).key,
  },
  api: {
    summary: 'Calls any path of the API with the stored credential',
    load: async () => (await import('./api/call.ts')).command,
  },
  'artifacts show': {
    summary: 'Shows an artifact, where it came from and what is stated about it',
    from: 'artifacts get',
    load: async () => (await import('./artifacts/show.ts')).show,
  },
  'artifacts verify': {
    summary: 'Verifies a signed statement about a file or an image; ends with 1 when it does not hold',
    load: async () => (await import('./artifacts/verify.ts')).command,
  },
  'audit verify': {
    summary: "Recomputes a team's ledger; ends with 1 when it is not intact",
    load: async () => (await import('./audit/verify.ts')).verifyTeam,
  },
  'auth login': {
    summary: 'Signs in by password, or stores an API key',
    load: async () => (await import('./auth/login.ts')).command,
  },
  'auth logout': {
    summary: 'Ends the stored session and forgets the credential',
    load: async () => (await import('./auth/logout.ts')).command,
  },
  'auth status': {
    summary: 'Shows address, credential and account in use',
    load: async () => (await import('./auth/status.ts')).command,
  },
  'auth token': {
    summary: 'Prints the credential in use',
    load: async () => (await import('./auth/token.ts')).command,
  },
  'budgets set': {
    summary: 'Sets the budget of a scope',
    load: async () => (await import('./budgets/set.ts')).set,
  },
  'builds create': {
    summary: "Submits a build of a commit, or of the head of the environment's branch",
    load: async () => (await import('./builds/builds.ts')).create,
  },
  'builds logs': {
    summary: 'Shows the output of a build as it comes, until the build ends',
    load: async () => (await import('./builds/builds.ts')).logs,
  },
  'builds wait': {
    summary: 'Waits for a build to end',
    from: 'builds get',
    load: async () => (await import('./builds/builds.ts')).wait,
  },
  'ci artifact': {
    summary: 'Reports a file or an image that a CI job made, from the job itself',
    from: 'artifacts report-for-run',
    load: async () => (await import('./ci/artifact.ts')).artifact,
  },
  'ci connect': {
    summary: 'Connects a repository of a CI system',
    from: 'ci connections create',
    load: async () => (await import('./ci/connect.ts')).connect,
  },
  'ci connections set-token': {
    summary:
      "Stores a token of the repository's host; it is read from standard input, a file or the terminal",
    load: async () => (await import('./ci/set-token.ts')).setToken,
  },
  'ci report': {
    summary: 'Reports a run, from the CI job itself',
    load: async () => (await import('./ci/report.ts')).report,
  },
  'ci runs list': {
    summary: 'Lists runs of a pipeline or of a connection, newest first',
    load: async () => (await import('./ci/runs-list.ts')).runsList,
  },
  'ci validate': {
    summary: 'Shows what discovery finds in the CI files of a working tree, offline',
    load: async () => (await import('./ci/validate.ts')).command,
  },
  completion: {
    summary: 'Prints the completion script of a shell',
    load: async () => (await import('./completion/print.ts')).command,
  },
  'completion names': {
    summary: 'Prints names that the completion of a shell offers',
    isHidden: true,
    load: async () => (await import('./completion/names.ts')).command,
  },
  'compliance verify': {
    summary: 'Verifies a compliance package on this machine; ends with 1 when it does not hold',
    load: async () => (await import('./compliance/verify.ts')).command,
  },
  'costs buy-credit': {
    summary: 'Buys credit: prints where to pay, and waits until it is there',
    load: async () => (await import('./costs/buy-credit.ts')).command,
  },
  'costs explain': {
    summary: 'Shows what a run or build cost, down to milliseconds times price',
    load: async () => (await import('./costs/explain.ts')).explain,
  },
  'costs export': {
    summary: 'Exports costs as CSV or JSON, by the columns of FOCUS 1.2',
    load: async () => (await import('./costs/export.ts')).command,
  },
  'costs summary': {
    summary: 'Shows what this month has come to, and is likely to come to',
    load: async () => (await import('./costs/summary.ts')).summary,
  },
  'costs verify': {
    summary: "Recomputes a team's costs; ends with 1 when something differs",
    load: async () => (await import('./costs/verify.ts')).verify,
  },
  'database show': {
    summary: 'Says how the database of an environment stands, and the age of its newest backup',
    from: 'database get',
    load: async () => (await import('./databases/show.ts')).show,
  },
  'domains add': {
    summary: 'Adds a domain, and says what is still to be done until it is served',
    load: async () => (await import('./domains/domains.ts')).add,
  },
  'domains check': {
    summary: 'Says of each domain of an environment how it stands and what helps; ends with 1 when one fails',
    from: 'domains list',
    load: async () => (await import('./domains/domains.ts')).check,
  },
  'features companion': {
    summary: 'Lists features of the companion service, as it answered last',
    load: async () => (await import('./features/show.ts')).companion,
  },
  'features list': {
    summary: 'Lists every feature with its own switch, its effective state and why',
    load: async () => (await import('./features/show.ts')).list,
  },
  'features resolved': {
    summary: 'Tells which features are switched on',
    load: async () => (await import('./features/show.ts')).resolved,
  },
  'failures list': {
    summary: 'Lists why builds and runs of a team failed, the last seen first',
    from: 'teams failures list',
    load: async () => (await import('./failures/failures.ts')).list,
  },
  'failures show': {
    summary: 'Shows one reason for failures, and what helped',
    from: 'teams failures list',
    load: async () => (await import('./failures/failures.ts')).show,
  },
  'features set': {
    summary: 'Switches a feature on or off',
    load: async () => (await import('./features/set.ts')).set,
  },
  'features watch': {
    summary: 'Shows changes of features as they come',
    load: async () => (await import('./features/watch.ts')).watch,
  },
  login: {
    summary: 'Signs in by password, or stores an API key',
    load: async () => (await import('./auth/login.ts')).command,
  },
  logs: {
    summary: 'Shows the output of a run as it comes, until the run ends',
    from: 'runs logs',
    load: async () => (await import('./runs/runs.ts')).logs,
  },
  'logs nginx': {
    summary: 'Shows what the reverse proxy of an environment has answered, or its errors',
    from: 'environments nginx-logs',
    load: async () => (await import('./logs/nginx.ts')).nginx,
  },
  open: {
    summary: 'Opens the console at a thing, or at the place in use',
    load: async () => (await import('./open/open.ts')).command,
  },
  'policies simulate': {
    summary: 'Tells what a policy, or a draft of it, would newly have refused; ends with 3 if anything',
    load: async () => (await import('./policies/simulate.ts')).simulate,
  },
  'promotions approve': {
    summary: 'Shows what a promotion changes against what runs now, asks, and approves it',
    load: async () => (await import('./promotions/approve.ts')).approve,
  },
  'promotions create': {
    summary: 'Asks for a release to go to an environment',
    load: async () => (await import('./promotions/create.ts')).create,
  },
  'registries add': {
    summary: 'Adds a container registry; its password is read from standard input, a file or the terminal',
    load: async () => (await import('./registries/add.ts')).add,
  },
  'releases create': {
    summary: 'Creates a release, of artifacts or of the image of a build',
    load: async () => (await import('./releases/create.ts')).create,
  },
  'runners enroll': {
    summary: 'Issues a one-shot enrollment token, and the command that uses it',
    load: async () => (await import('./runners/enroll.ts')).enroll,
  },
  'runs create': { summary: 'Submits a run', load: async () => (await import('./runs/runs.ts')).create },
  'runs logs': {
    summary: 'Shows the output of a run as it comes, until the run ends',
    load: async () => (await import('./runs/runs.ts')).logs,
  },
  'runs retry': {
    summary: 'Submits a run once more, as a new one',
    from: 'runs get',
    load: async () => (await import('./runs/retry.ts')).retry,
  },
  'runs wait': {
    summary: 'Waits for a run to end',
    from: 'runs get',
    load: async () => (await import('./runs/runs.ts')).wait,
  },
  status: {
    summary: 'Shows address, account, team, project and environment in use, and where each comes from',
    load: async () => (await import('./place/status.ts')).command,
  },
  'templates deploy': {
    summary: 'Makes an environment from a template, and asks for what is missing',
    load: async () => (await import('./templates/deploy.ts')).deploy,
  },
  timeline: {
    summary: "Shows one page of an environment's timeline",
    load: async () => (await import('./timeline/show.ts')).show,
  },
  use: {
    summary: 'Chooses the team, project or environment that commands work in where they name none',
    load: async () => (await import('./place/use.ts')).command,
  },
  version: {
    summary: 'Prints the version of this program',
    load: async () => (await import('./version/print.ts')).command,
  },
  whoami: {
    summary: 'Returns the account in use',
    from: 'account whoami',
    load: async () => (await import('./auth/whoami.ts')).whoami,
  },
};
