/** `svc runners enroll` */
import type { RunnersCreateEnrollTokenResponse } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { operationOf, warnOfSecrets } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';
import { formatRelative } from '../shell/time.ts';

export function enroll(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} Prints the token and the command to run on the new machine.`,
    run: issueToken,
  };
}

async function issueToken(context: Context): Promise<void> {
  const { input, output, io, signal } = context;
  const client = await context.client();
  const issued = await client.call<RunnersCreateEnrollTokenResponse>(operationOf(context), input, { signal });
  const { baseUrl } = await context.connection();
  const command = `svc-runner enroll --url ${shellWord(baseUrl)} --token ${shellWord(issued.token)}`;
  if (output.format === 'table') {
    const until = formatRelative(Date.parse(issued.expiresAt), io.now());
    const lines = [
      `token    ${neutraliseLine(issued.token)}`,
      `expires  ${neutraliseLine(issued.expiresAt)} (${until})`,
      '',
      'Run this on the new machine:',
      '',
      `  ${output.paint('bold', command)}`,
    ];
    await output.raw(`${lines.join('\n')}\n`);
  } else if (output.format === 'tsv') await output.value({ ...issued, command });
  else await output.value(issued);
  await warnOfSecrets(context);
}

/** As a POSIX shell reads it back. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9_.:/@%+=-]+$/.test(text) ? text : `'${neutraliseLine(text).replaceAll("'", `'\\''`)}'`;
}
