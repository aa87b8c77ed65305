/** `svc runners enroll` */
import { Regions, Teams, SvcApiError, type RunnersCreateEnrollTokenResponse } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { answerOf, warnOfSecrets } from '../shell/operation.ts';
import { neutraliseLine } from '../shell/text.ts';
import { formatRelative } from '../shell/time.ts';

export function enroll(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} Prints the token, and the command to run on the new machine, which asks for it: a token in a command line would stay in the history of a shell.`,
    run: issueToken,
  };
}

async function issueToken(context: Context): Promise<void> {
  const { input, output, io } = context;
  const issued = await answerOf<RunnersCreateEnrollTokenResponse>(context);
  const { baseUrl } = await context.connection();
  const command = `svc-runner enroll --url ${shellWord(baseUrl)} --token-file -`;
  if (output.format === 'table') {
    const until = formatRelative(Date.parse(issued.expiresAt), io.now());
    const lines = [
      `token    ${neutraliseLine(issued.token)}`,
      `expires  ${neutraliseLine(issued.expiresAt)} (${until})`,
      '',
      'Run this on the new machine, and give it the token when it asks:',
      '',
      `  ${output.paint('bold', command)}`,
    ];
    await output.raw(`${lines.join('\n')}\n`);
  } else if (output.format === 'tsv') await output.value({ ...issued, command });
  else await output.value(issued);
  await warnOfSecrets(context);
  await noteRegion(context, String(input['teamId']));
}

/** Runners of this team execute the work of others: that of teams which the service operates. */
const POOL_TEAM = 'service pool';

/** Says when the runner would wait for work that never comes. */
async function noteRegion(context: Context, teamId: string): Promise<void> {
  const { output, signal } = context;
  const client = await context.client();
  try {
    const { name, operator } = await new Teams(client).get(teamId, { signal });
    if (operator !== 'service' || name === POOL_TEAM) return;
    const regions = await new Regions(client).list({ signal });
    const region = regions.find((each) => each.operator === 'customer');
    await output.note(
      `warning: team ${teamId} is in a region of the service, which sends no work to the team's own runners; ask the service's operator to move it: "svc admin-teams set-region ${teamId} ${region?.id ?? '<region>'}"`,
    );
  } catch (error) {
    // The token was issued, and a key that may do no more than that is no failure.
    if (!(error instanceof SvcApiError)) throw error;
  }
}

/** As a POSIX shell reads it back. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9_.:/@%+=-]+$/.test(text) ? text : `'${neutraliseLine(text).replaceAll("'", `'\\''`)}'`;
}
