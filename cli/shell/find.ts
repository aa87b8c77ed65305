/** From the first words of the command line to a command. Pure: works on names alone. */
import { UsageError } from './errors.ts';
import { GLOBAL_FLAGS, isFlag, type Token } from './globals.ts';
import { nearest } from './suggest.ts';
import type { GroupEntry } from './tree.ts';

export interface Found {
  readonly group: GroupEntry;
  readonly words: readonly string[];
  /** What stands behind the command. */
  readonly tokens: readonly Token[];
}

/** What `--help` asks for: as much of a command as was named. */
export interface Topic {
  readonly group?: GroupEntry;
  /** A whole command when `isCommand`, else the beginning of several. */
  readonly words: readonly string[];
  readonly isCommand: boolean;
}

export function findCommand(groups: readonly GroupEntry[], tokens: readonly Token[]): Found {
  const { group, words, isCommand } = findTopic(groups, tokens);
  if (group === undefined) {
    throw new UsageError('which command?', { listing: 'svc' });
  }
  if (isCommand) return { group, words, tokens: tokens.slice(1 + words.length) };
  const named = ['svc', group.group, ...words].join(' ');
  throw new UsageError(`which command of "${named}"?`, { listing: named });
}

/** Throws for words that name nothing. */
export function findTopic(groups: readonly GroupEntry[], tokens: readonly Token[]): Topic {
  const named = leadingWords(tokens);
  const [first, ...more] = named;
  if (first === undefined) return { words: [], isCommand: false };
  const group = groups.find((known) => known.group === first);
  if (group === undefined) throw unknownGroup(groups, first);
  const fits = group.commands.filter(({ words }) => words.every((word, index) => more[index] === word));
  const longest = fits.reduce<readonly string[] | undefined>(
    (best, { words }) => (best === undefined || words.length > best.length ? words : best),
    undefined,
  );
  if (longest !== undefined) return { group, words: longest, isCommand: true };
  if (isBeginning(group, more)) return { group, words: more, isCommand: false };
  throw unknownCommand(group, more);
}

/** Words before the first flag of a command; a flag in front of everything belongs to no command. */
function leadingWords(tokens: readonly Token[]): readonly string[] {
  const [first] = tokens;
  if (first !== undefined && isFlag(first.text)) {
    const name = first.text.split('=')[0] ?? first.text;
    const meant = nearest(
      name,
      GLOBAL_FLAGS.map(({ flag }) => `--${flag}`),
    );
    throw new UsageError(`unknown flag ${name} before the command`, {
      hints: [
        ...(meant === undefined ? [] : [`did you mean ${meant}?`]),
        'the flags of a command stand behind it; run "svc --help" for all commands',
      ],
    });
  }
  const end = tokens.findIndex(({ text }) => isFlag(text));
  return (end === -1 ? tokens : tokens.slice(0, end)).map(({ text }) => text);
}

function isBeginning(group: GroupEntry, words: readonly string[]): boolean {
  return group.commands.some((command) => words.every((word, index) => command.words[index] === word));
}

function unknownGroup(groups: readonly GroupEntry[], typed: string): UsageError {
  const meant = nearest(
    typed,
    groups.map(({ group }) => group),
  );
  return new UsageError(`unknown command "svc ${typed}"`, {
    hints: [
      ...(meant === undefined ? [] : [`did you mean "svc ${meant}"?`]),
      'run "svc --help" for all commands',
    ],
  });
}

function unknownCommand(group: GroupEntry, typed: readonly string[]): UsageError {
  const depth = Math.max(...group.commands.map(({ words }) => words.length));
  const named = typed.slice(0, depth);
  const known = group.commands.map(({ words }) => words.join(' '));
  // `teams members lst` is compared whole, `runs lst run_1` by its first word.
  const meant = nearest(named.join(' '), known) ?? nearest(named[0] ?? '', known);
  const shown = meant === undefined ? named[0] : named.slice(0, meant.split(' ').length).join(' ');
  return new UsageError(`unknown command "svc ${group.group} ${shown}"`, {
    hints: [
      ...(meant === undefined ? [] : [`did you mean "svc ${group.group} ${meant}"?`]),
      `run "svc ${group.group} --help" for its commands`,
    ],
  });
}
