/** `svc budgets set` is the generated command, with `--hold` in place of the effect. */
import { defineOwn, type ContextOf, type GeneratedSpec, type Own, type OwnArgs } from '../shell/command.ts';
import { answerOf } from '../shell/operation.ts';

const ARGS = {
  hold: {
    type: 'boolean',
    description: 'Refuse new work of the scope once the limit is reached; --no-hold: tell people alone.',
  },
} satisfies OwnArgs;

export function set(generated: GeneratedSpec): Own {
  return defineOwn({
    // The longer spelling goes on to work.
    flags: generated.flags.map((field) =>
      field.name === 'enforcement' ? { ...field, hidden: true } : field,
    ),
    args: ARGS,
    examples: [
      {
        title: 'Refuse new work of the team beyond 200 a month',
        cli: 'budgets set --team team_01 --limit 200 --hold',
      },
      {
        title: 'Be told of what a project spends',
        cli: 'budgets set --team team_01 --limit 50 --project prj_01',
      },
    ],
    run: setBudget,
  });
}

async function setBudget(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, input, output } = context;
  const effect = args.hold === undefined ? {} : { enforcement: args.hold ? 'hold' : 'notify' };
  await output.value(await answerOf(context, { ...input, ...effect }));
}
