/** `svc completion` */
import type { FieldSpec } from '../command.ts';
import { GLOBAL_FLAGS, type GlobalFlag } from '../shell/globals.ts';
import { defineOwn, type ContextOf, type OwnArgs, type Spec } from '../shell/command.ts';
import { addressOf } from '../shell/address.ts';
import { kindKeyOf } from '../shell/kinds.ts';
import { defined } from '../shell/paths.ts';
import { commandTree, leavesOf } from '../shell/tree.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { NAME_KINDS, type CompletionTree, type Flag, type NameKind } from './completion-tree.ts';
import { zshScript } from './zsh.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const ARGS = {
  shell: { type: 'positional', required: true, options: [...SHELLS], description: 'The shell.' },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Prints the completion script of a shell. It completes commands, flags, the values of flags with a fixed choice, and names of teams, projects and environments. For names it asks the server, for a second at most, and only where there is a credential.',
  args: ARGS,
  answer: false,
  examples: [
    {
      title: 'bash, in ~/.bashrc',
      cli: 'completion bash > ~/.svc-completion.bash && . ~/.svc-completion.bash',
    },
    { title: 'zsh, in a folder of $fpath', cli: 'completion zsh > "${fpath[1]}/_svc"' },
    { title: 'fish', cli: 'completion fish > ~/.config/fish/completions/svc.fish' },
  ],
  run: printCompletion,
});

async function printCompletion({ args, output }: ContextOf<typeof ARGS>): Promise<void> {
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
  const shell = SHELLS.find((known) => known === args.shell) ?? 'bash';
  await output.raw(scripts[shell](await completionTree()));
}

/** Loads every table: the one command that needs them all. */
export async function completionTree(): Promise<CompletionTree> {
  const tree = commandTree();
  const commands = await Promise.all(
    leavesOf(tree, { aliases: true }).map(async ({ meta, load }) => ({
      // An old verb has the flags of the new one.
      path: meta.name.split(' ').slice(1),
      spec: (await load()).spec,
    })),
  );
  return {
    groups: Object.entries(tree.subCommands).map(([name, { meta }]) => ({ name, summary: meta.description })),
    commands: commands.map(({ path, spec }) => {
      const [first] = [...spec.positionals, ...addressOf(spec)];
      return {
        path,
        summary: spec.summary,
        flags: flagsOf(spec),
        choices: first?.values ?? [],
        ...(first !== undefined && namesOf(spec, first)),
      };
    }),
    globals: GLOBAL_FLAGS.map((global) =>
      flagOf(global, global.placeholder !== undefined && global.optionalValue !== true),
    ),
  };
}

function flagsOf(spec: Spec): readonly Flag[] {
  return [...spec.flags, ...spec.locals]
    .filter(({ hidden }) => !hidden)
    .map((field) => ({ ...flagOf(field, field.type !== 'boolean'), ...namesOf(spec, field) }));
}

/** Fields that name a place, where the shell does not make ids of them. */
const PLACES: Readonly<Record<string, NameKind>> = {
  team: 'teams',
  project: 'projects',
  env: 'environments',
  place: 'places',
  thing: 'places',
};

function namesOf(spec: Spec, field: FieldSpec): { readonly names?: NameKind } {
  const key = kindKeyOf(spec, field);
  const own =
    spec.operation === undefined && Object.hasOwn(PLACES, field.name) ? PLACES[field.name] : undefined;
  const names = own ?? NAME_KINDS.find((known) => known === key);
  return names === undefined ? {} : { names };
}

function flagOf(
  { flag, short, values = [], description }: GlobalFlag | FieldSpec,
  takesValue: boolean,
): Flag {
  return defined({ flag, short, takesValue, values, description: firstSentence(description) });
}

function firstSentence(text: string): string {
  return (/^.*?(?=\.(\s|$)|;|\n|$)/s.exec(text)?.[0] ?? text).trim();
}
