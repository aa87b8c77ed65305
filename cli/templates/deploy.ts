/**
 * `svc templates deploy` asks a person for the variables that are missing, and tells a script which they are.
 */
import {
  Templates,
  type TemplatesDeployParams,
  type TemplatesDeployResponse,
  type TemplateVariable,
} from '@svc/sdk';
import { canAsk } from '../shell/confirm.ts';
import {
  defineOwn,
  type Context,
  type ContextOf,
  type GeneratedSpec,
  type Own,
  type OwnArgs,
} from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { answerOf } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';

const ARGS = {
  incomplete: {
    type: 'boolean',
    description: 'Make the environment although variables are missing; nothing is built until they are set.',
  },
} satisfies OwnArgs;

type Values = NonNullable<TemplatesDeployParams['variables']>;

export function deploy(generated: GeneratedSpec): Own {
  return defineOwn({
    description: `${generated.description}\n\nRequired variables that are neither given nor made by the template are asked for at a terminal, secret ones without showing them; in a script they are named, and nothing is made. Values that no command line should hold come from a file, or from standard input.`,
    args: ARGS,
    examples: [
      ...generated.examples,
      {
        title: 'With values of a file, one NAME=value a line',
        cli: 'templates deploy web-shop --project prj_01 --var-file shop.env',
      },
    ],
    run: deployTemplate,
  });
}

async function deployTemplate(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, input, output } = context;
  const given = (input['variables'] ?? {}) as Values;
  const variables = args.incomplete === true ? given : { ...given, ...(await missingValues(context, given)) };
  const answer = await answerOf<TemplatesDeployResponse>(context, { ...input, variables });
  await output.value(answer);
  await output.progress(describe(answer));
}

/** Returns what a person types, who is asked for one after the other. */
async function missingValues(context: Context, given: Values): Promise<Values> {
  const { input, io, globals, signal } = context;
  const templates = new Templates(await context.client());
  const template = await templates.get(String(input['templateId']), { signal });
  const missing = template.variables.filter((variable) => isMissing(variable, given));
  if (missing.length === 0) return {};
  if (!canAsk(io, globals)) {
    const names = missing.map(({ name }) => name);
    throw new UsageError(`the template requires variables that are not given: ${names.join(', ')}`, {
      hints: [
        `give them: ${names.map((name) => `--var ${name}=…`).join(' ')}`,
        'or set them later, and build then: --incomplete',
      ],
    });
  }
  const values: Record<string, string> = {};
  for (const variable of missing) values[variable.name] = await askFor(io, variable);
  return values;
}

const isMissing = (
  { name, required = true, default: fallback, generate }: TemplateVariable,
  given: Values,
): boolean => required && fallback === undefined && generate === undefined && !Object.hasOwn(given, name);

/** The text of a template is anybody's, and is shown as such. */
async function askFor(
  io: Context['io'],
  { name, description = '', secret = false, format }: TemplateVariable,
): Promise<string> {
  const about = [description, ...(format === undefined ? [] : [format])].filter((word) => word !== '');
  const prompt = about.length === 0 ? name : `${name} (${about.join(', ')})`;
  const value = await io.stdin.ask(`${neutraliseLine(prompt)}: `, { hidden: secret });
  if (value === '') throw new UsageError(`${name} is required, and nothing was typed`);
  return value;
}

/** `environment shop (env_1) made; build 1 (bld_1) queued` */
function describe({ environment, build, missingVariables }: TemplatesDeployResponse): string {
  const made = `environment ${environment?.name} (${environment?.id}) made`;
  if (build !== undefined) return `${made}; build ${build.number} (${build.id}) ${build.state}`;
  if (missingVariables.length > 0)
    return `${made}; it is built when these are set: ${missingVariables.join(', ')}`;
  return environment?.notice === undefined ? made : `${made}; ${environment.notice}`;
}
