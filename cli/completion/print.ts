/** `svc completion` */
import { GLOBAL_FLAGS } from '../shell/globals.ts';
import { describeCommand, describeFlag, type Command, type Spec } from '../shell/command.ts';
import { listGroups, loadCommand } from '../shell/tree.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import type { CompletionTree, Flag } from './completion-tree.ts';
import { zshScript } from './zsh.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const command: Command = {
  spec: describeCommand({
    group: 'completion',
    words: [],
    summary: 'Prints the completion script of a shell',
    description:
      'Prints the completion script of a shell. It completes commands, flags and the values of flags with a fixed choice, without asking the server.',
    positionals: [
      describeFlag({
        flag: 'shell',
        type: 'enum',
        values: SHELLS,
        required: true,
        description: 'The shell.',
      }),
    ],
    examples: [
      {
        title: 'bash, in ~/.bashrc',
        cli: 'completion bash > ~/.svc-completion.bash && . ~/.svc-completion.bash',
      },
      { title: 'zsh, in a folder of $fpath', cli: 'completion zsh > "${fpath[1]}/_svc"' },
      { title: 'fish', cli: 'completion fish > ~/.config/fish/completions/svc.fish' },
    ],
  }),
  run: async ({ input, output }) => {
    const tree = await completionTree();
    const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
    const shell = SHELLS.find((known) => known === input['shell']) ?? 'bash';
    await output.raw(scripts[shell](tree));
  },
};

/** Loads every table: the one command that needs them all. */
export async function completionTree(): Promise<CompletionTree> {
  const groups = listGroups();
  const specs = await Promise.all(
    groups.flatMap(({ group, commands }) =>
      commands.map(async ({ words }) => (await loadCommand(group, words)).spec),
    ),
  );
  return {
    groups: groups.map(({ group, summary }) => ({ name: group, summary })),
    commands: specs.map((spec) => ({
      path: [spec.group, ...spec.words],
      summary: spec.summary,
      flags: flagsOf(spec),
      choices: spec.positionals[0]?.values ?? [],
    })),
    globals: GLOBAL_FLAGS.map(({ flag, short, placeholder, optionalValue, values, description }) => ({
      flag,
      ...(short === undefined ? {} : { short }),
      takesValue: placeholder !== undefined && optionalValue !== true,
      values: values ?? [],
      description: firstSentence(description),
    })),
  };
}

function flagsOf(spec: Spec): readonly Flag[] {
  return [...spec.flags, ...spec.locals]
    .filter(({ hidden }) => !hidden)
    .map(({ flag, short, type, values, description }) => ({
      flag,
      ...(short === undefined ? {} : { short }),
      takesValue: type !== 'boolean',
      values: values ?? [],
      description: firstSentence(description),
    }));
}

function firstSentence(text: string): string {
  return (/^.*?(?=\.(\s|$)|;|\n|$)/s.exec(text)?.[0] ?? text).trim();
}
