/** The tree that completion scripts are printed from. */

/**
 * Kinds that `svc completion names` lists. Places are teams and projects, and behind a stroke they are
 * environments.
 */
export const NAME_KINDS = ['teams', 'projects', 'environments', 'places'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

export interface Flag {
  readonly flag: string;
  readonly short?: string;
  readonly takesValue: boolean;
  /** A fixed choice; empty for anything. */
  readonly values: readonly string[];
  /** Names that it takes, which the server is asked for. */
  readonly names?: NameKind;
  readonly description: string;
}

export interface CompletionTree {
  readonly groups: readonly { readonly name: string; readonly summary: string }[];
  readonly commands: readonly {
    readonly path: readonly string[];
    readonly summary: string;
    readonly flags: readonly Flag[];
    /** Choices of the first positional. */
    readonly choices: readonly string[];
    /** Names that the first positional takes. */
    readonly names?: NameKind;
  }[];
  readonly globals: readonly Flag[];
}

export interface NextWord {
  readonly word: string;
  readonly summary: string;
}

/**
 * Words that may follow each beginning of a command: `''` → groups, `teams members` → list, remove, set-role.
 */
export function nextWords(tree: CompletionTree): ReadonlyMap<string, readonly NextWord[]> {
  const found = new Map<string, Map<string, NextWord>>();
  const add = (prefix: string, next: NextWord): void => {
    const known = found.get(prefix) ?? new Map<string, NextWord>();
    if (!known.has(next.word)) known.set(next.word, next);
    found.set(prefix, known);
  };
  for (const { name, summary } of tree.groups) add('', { word: name, summary });
  for (const { path, summary } of tree.commands) {
    for (let depth = 1; depth < path.length; depth += 1) {
      const isWhole = depth === path.length - 1;
      add(path.slice(0, depth).join(' '), {
        word: path[depth] ?? '',
        summary: isWhole ? summary : `${path[depth]} …`,
      });
    }
  }
  return new Map([...found].map(([prefix, words]) => [prefix, [...words.values()]]));
}

/** In single quotes for POSIX shells. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function flagWords(flags: readonly Flag[]): string[] {
  return flags.map(({ flag }) => `--${flag}`);
}

/** Returns the flags with a fixed choice, each with the pattern of the commands so far that have it. */
export function choiceFlags({ commands, globals }: CompletionTree): readonly (readonly [string, Flag])[] {
  return [
    ...commands.flatMap(({ path, flags }) =>
      flags.map((flag) => [`${quote(path.join(' '))}:`, flag] as const),
    ),
    ...globals.map((flag) => ['*:', flag] as const),
  ].filter(([, { values }]) => values.length > 0);
}

/** Returns the choices of first positionals, each with its command. */
export function choiceWords({ commands }: CompletionTree): readonly (readonly [string, readonly string[]])[] {
  return commands.flatMap(({ path, choices }) =>
    choices.length === 0 ? [] : [[path.join(' '), choices] as const],
  );
}

/** Returns every spelling of a flag that takes a value. */
export function valueFlags({ commands, globals }: CompletionTree): string[] {
  const all = [...globals, ...commands.flatMap(({ flags }) => flags)].filter(({ takesValue }) => takesValue);
  return [...new Set(all.flatMap(spellings))].sort();
}

export function spellings({ flag, short }: Flag): string[] {
  return [`--${flag}`, ...(short === undefined ? [] : [`-${short}`])];
}

/** Returns every beginning of a command. */
export function knownPaths(tree: CompletionTree): string[] {
  const paths = tree.commands.flatMap(({ path }) =>
    path.map((_word, index) => path.slice(0, index + 1).join(' ')),
  );
  return [...new Set(paths)].sort();
}

export interface NamePattern {
  /** Matches the command so far and the flag: `*:--team`. */
  readonly pattern: string;
  /** Nothing for a command whose flag of this spelling takes something else. */
  readonly names: NameKind | undefined;
}

/** Returns the flags that take names, each once; commands in which it is another flag come before it. */
export function nameFlags({ commands }: CompletionTree): readonly NamePattern[] {
  const usual = new Map<string, NameKind>();
  for (const { flags } of commands)
    for (const { flag, names } of flags) if (names !== undefined) usual.set(flag, names);
  const others = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ flag, names }) => usual.has(flag) && usual.get(flag) !== names)
      .map(({ flag, names }) => ({ pattern: `${quote(path.join(' '))}:--${flag}`, names })),
  );
  return [...others, ...[...usual].map(([flag, names]) => ({ pattern: `*:--${flag}`, names }))];
}

/** Returns the commands whose first positional takes names. */
export function nameWords({ commands }: CompletionTree): readonly (readonly [string, NameKind])[] {
  return commands.flatMap(({ path, names }) =>
    names === undefined ? [] : [[path.join(' '), names] as const],
  );
}
