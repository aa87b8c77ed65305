/** The hand-written commands, by name; each is loaded when it is run. */
import type { CommandSpec } from './command.ts';
import type { Command, Spec } from './shell/command.ts';

/** A generated command as the shell shows it. */
export type GeneratedSpec = Spec & Pick<CommandSpec, 'operation'>;

interface Named {
  readonly group: string;
  /** For groups that have no generated command. */
  readonly groupSummary?: string;
  /** Of such a group; one that is about this program alone has none. */
  readonly groupArea?: string;
  readonly words: readonly string[];
  readonly summary: string;
}

/** Stands on its own. */
interface Alone extends Named {
  readonly kind: 'alone';
  readonly load: () => Promise<Command>;
}

/** Takes its arguments and its operation from a generated command, `from` when it is not the one of the same name. */
interface Over extends Named {
  readonly kind: 'over';
  readonly from?: readonly string[];
  readonly load: () => Promise<(generated: GeneratedSpec) => Command>;
}

export type HandWritten = Alone | Over;

const AUTH = 'Sign in and out, and see as whom';

export const handWritten: readonly HandWritten[] = [
  {
    kind: 'over',
    group: 'admin-audit',
    words: ['verify'],
    summary: 'Recomputes every ledger of the installation; ends with 1 when one is not intact',
    load: async () => (await import('./audit/verify.ts')).verifyAll,
  },
  {
    kind: 'alone',
    group: 'api',
    groupSummary: 'Call any path of the API',
    words: [],
    summary: 'Calls any path of the API with the stored credential',
    load: async () => (await import('./api/call.ts')).command,
  },
  {
    kind: 'over',
    group: 'audit',
    words: ['verify'],
    summary: "Recomputes a team's ledger; ends with 1 when it is not intact",
    load: async () => (await import('./audit/verify.ts')).verifyTeam,
  },
  {
    kind: 'alone',
    group: 'auth',
    groupSummary: AUTH,
    groupArea: 'access',
    words: ['login'],
    summary: 'Signs in by password, or stores an API key',
    load: async () => (await import('./auth/login.ts')).command,
  },
  {
    kind: 'alone',
    group: 'auth',
    words: ['logout'],
    summary: 'Ends the stored session and forgets the credential',
    load: async () => (await import('./auth/logout.ts')).command,
  },
  {
    kind: 'alone',
    group: 'auth',
    words: ['status'],
    summary: 'Shows address, credential and account in use',
    load: async () => (await import('./auth/status.ts')).command,
  },
  {
    kind: 'alone',
    group: 'auth',
    words: ['token'],
    summary: 'Prints the credential in use',
    load: async () => (await import('./auth/token.ts')).command,
  },
  {
    kind: 'over',
    group: 'builds',
    words: ['logs'],
    summary: 'Output of a build as it comes, until the build ends',
    load: async () => (await import('./builds/logs.ts')).logs,
  },
  {
    kind: 'over',
    group: 'ci',
    words: ['connect'],
    from: ['connections', 'create'],
    summary: 'Connects a repository of a CI system',
    load: async () => (await import('./ci/connect.ts')).connect,
  },
  {
    kind: 'over',
    group: 'ci',
    words: ['report'],
    summary: 'Reports a run, from the CI job itself',
    load: async () => (await import('./ci/report.ts')).report,
  },
  {
    kind: 'alone',
    group: 'ci',
    words: ['validate'],
    summary: 'Shows what discovery finds in the CI files of a working tree, offline',
    load: async () => (await import('./ci/validate.ts')).command,
  },
  {
    kind: 'alone',
    group: 'completion',
    groupSummary: 'Completion for your shell',
    words: [],
    summary: 'Prints the completion script of a shell',
    load: async () => (await import('./completion/print.ts')).command,
  },
  {
    kind: 'over',
    group: 'features',
    words: ['companion'],
    summary: 'Features of the companion service, as it answered last',
    load: async () => (await import('./features/companion.ts')).companion,
  },
  {
    kind: 'over',
    group: 'ci',
    words: ['connections', 'set-token'],
    summary:
      "Stores a token of the repository's host; it is read from standard input, a file or the terminal",
    load: async () => (await import('./ci/set-token.ts')).setToken,
  },
  {
    kind: 'over',
    group: 'features',
    words: ['list'],
    summary: 'Every feature with its own switch, its effective state and why',
    load: async () => (await import('./features/list.ts')).list,
  },
  {
    kind: 'over',
    group: 'features',
    words: ['resolved'],
    summary: 'What is switched on',
    load: async () => (await import('./features/resolved.ts')).resolved,
  },
  {
    kind: 'over',
    group: 'features',
    words: ['set'],
    summary: 'Switches a feature on or off',
    load: async () => (await import('./features/set.ts')).set,
  },
  {
    kind: 'over',
    group: 'features',
    words: ['watch'],
    summary: 'Shows changes of features as they come',
    load: async () => (await import('./features/watch.ts')).watch,
  },
  {
    kind: 'over',
    group: 'registries',
    words: ['add'],
    summary: 'Adds a container registry; its password is read from standard input, a file or the terminal',
    load: async () => (await import('./registries/add.ts')).add,
  },
  {
    kind: 'over',
    group: 'runners',
    words: ['enroll'],
    summary: 'Issues a one-shot enrollment token, and the command that uses it',
    load: async () => (await import('./runners/enroll.ts')).enroll,
  },
  {
    kind: 'over',
    group: 'runs',
    words: ['create'],
    summary: 'Submits a run',
    load: async () => (await import('./runs/create.ts')).create,
  },
  {
    kind: 'over',
    group: 'runs',
    words: ['logs'],
    summary: 'Output of a run as it comes, until the run ends',
    load: async () => (await import('./runs/logs.ts')).logs,
  },
  {
    kind: 'over',
    group: 'runs',
    words: ['wait'],
    from: ['get'],
    summary: 'Waits for a run to end',
    load: async () => (await import('./runs/wait.ts')).wait,
  },
  {
    kind: 'over',
    group: 'timeline',
    words: [],
    summary: "One page of an environment's timeline",
    load: async () => (await import('./timeline/show.ts')).show,
  },
  {
    kind: 'alone',
    group: 'version',
    groupSummary: 'The version of this program',
    words: [],
    summary: 'Prints the version of this program',
    load: async () => (await import('./version/print.ts')).command,
  },
];
