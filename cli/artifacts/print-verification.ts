/** Shows what was seen of a signed statement, and says it in the exit code. */
import type { Context, ShapeOf } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { neutraliseLine, padEnd } from '../shell/text.ts';
import type { Check, Verification } from './checks.ts';
import { isJson } from '../shell/output.ts';

export const VERIFICATION = {
  ok: '',
  checks: { check: '', ok: '', detail: '' } satisfies ShapeOf<Check>,
  predicateType: '',
  subject: '',
  keyId: '',
} satisfies ShapeOf<Verification>;

export async function printVerification(context: Context, verification: Verification): Promise<number> {
  const { output } = context;
  if (isJson(output)) await output.value(verification);
  else await printChecks(context, verification.checks);
  return verification.ok ? EXIT.ok : EXIT.failed;
}

async function printChecks({ output }: Context, checks: readonly Check[]): Promise<void> {
  const rows = checks.map(({ check, ok, detail }) => ({ result: ok ? 'ok' : 'FAILED', check, detail }));
  if (output.format === 'tsv') {
    await output.rows([rows], ['result', 'check', 'detail']);
    return;
  }
  // Not as a table, which cuts off what is longer than a line: the end of a detail is what is wrong.
  for (const { result, check, detail } of rows) {
    const word = output.paint(result === 'ok' ? 'green' : 'red', padEnd(result, 6));
    await output.raw(`${word}  ${padEnd(check, 12)}  ${neutraliseLine(detail)}\n`);
  }
}
