/**
 * `svc audit verify` and `svc admin-audit verify` say what was found, and end with a code that a script can
 * go by.
 */
import type { AdminAuditServiceVerifyResponse, AuditVerifyResponse, ChainReport } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';

const EXPLAINED = 'Ends with 0 when everything is intact, and with 1 when something was found.';

export function verifyTeam(generated: GeneratedSpec): Own {
  return command(generated, async (context) => {
    const { output } = context;
    const answer = await ask<AuditVerifyResponse>(context);
    const { report } = answer;
    await output.value(isJson(output) ? answer : report);
    const isIntact = report.finding === 'intact';
    await (isIntact ? output.progress(describe(report)) : output.note(describe(report)));
    return isIntact;
  });
}

export function verifyAll(generated: GeneratedSpec): Own {
  return command(generated, async (context) => {
    const answer = await ask<AdminAuditServiceVerifyResponse>(context);
    await context.output.value(answer);
    for (const report of answer.broken) await context.output.note(describe(report));
    if (answer.intact) await context.output.progress(`${answer.chains} chains are intact`);
    return answer.intact;
  });
}

function command(generated: GeneratedSpec, check: (context: Context) => Promise<boolean>): Own {
  return {
    description: `${generated.description} ${EXPLAINED}`,
    run: async (context) => ((await check(context)) ? EXIT.ok : EXIT.failed),
  };
}

/** As long as the server tries: it reads every entry. */
const ANSWER_MS = 300_000;

async function ask<T>(context: Context): Promise<T> {
  return await answerOf<T>(context, context.input, { signal: context.signal, timeoutMs: ANSWER_MS });
}

/** `the ledger of team_1 is not intact: entry_changed at 4` */
function describe({ chain, finding, seq, entries, checkpoints }: ChainReport): string {
  if (finding !== 'intact')
    return `the ledger of ${chain} is not intact: ${finding}${seq === undefined ? '' : ` at ${seq}`}`;
  return `the ledger of ${chain} is intact: ${entries} entries, ${checkpoints} checkpoints`;
}
