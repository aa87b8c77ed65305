/** `svc policies create` and `svc policies update-document`: the document is a file of YAML or JSON. */
import { defineOwn, type ContextOf, type GeneratedSpec, type Own, type OwnArgs } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { documentArg, otherFlags, readDocument } from './document.ts';

const ARGS = { document: { ...documentArg, required: true } } satisfies OwnArgs;

export function create(generated: GeneratedSpec): Own {
  return writing(generated, {
    title: 'From a file',
    cli: 'policies create main-only --team team_01 --document policy.yaml',
  });
}

export function updateDocument(generated: GeneratedSpec): Own {
  return writing(generated, {
    title: 'From a file',
    cli: 'policies update-document pol_01 --team team_01 --document policy.yaml',
  });
}

function writing(generated: GeneratedSpec, example: GeneratedSpec['examples'][number]): Own {
  return defineOwn({ flags: otherFlags(generated), args: ARGS, examples: [example], run: write });
}

async function write(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, input, output, signal } = context;
  // Absent where --data brought it.
  const given = args.document as string | undefined;
  const document = given === undefined ? {} : { document: await readDocument(given, context) };
  const client = await context.client();
  await output.value(await client.call<unknown>(operationOf(context), { ...input, ...document }, { signal }));
}
