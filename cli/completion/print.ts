/** `svc completion` */
import type { FieldSpec } from '../command.ts';
import { GLOBAL_FLAGS, type GlobalFlag } from '../shell/globals.ts';
import { defineOwn, type ContextOf, type OwnArgs, type Spec } from '../shell/command.ts';
import { defined } from '../shell/paths.ts';
import { commandTree, leavesOf } from '../shell/tree.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { CompletionTree, Flag } from './completion-tree.ts';
import { zshScript } from './zsh.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

const ARGS = {
  shell: { type: 'positional', required: true, options: [...SHELLS], description: 'The shell.' },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Prints the completion script of a shell. It completes commands, flags and the values of flags with a fixed choice, without asking the server.',
  args: ARGS,
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
  const specs = await Promise.all(leavesOf(tree).map(async ({ load }) => (await load()).spec));
  return {
    groups: Object.entries(tree.subCommands).map(([name, { meta }]) => ({ name, summary: meta.description })),
    commands: specs.map((spec) => ({
      path: [spec.group, ...spec.words],
      summary: spec.summary,
      flags: flagsOf(spec),
      choices: spec.positionals[0]?.values ?? [],
    })),
    globals: GLOBAL_FLAGS.map((global) =>
      flagOf(global, global.placeholder !== undefined && global.optionalValue !== true),
    ),
  };
}

function flagsOf(spec: Spec): readonly Flag[] {
  return [...spec.flags, ...spec.locals]
    .filter(({ hidden }) => !hidden)
    .map((field) => flagOf(field, field.type !== 'boolean'));
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
