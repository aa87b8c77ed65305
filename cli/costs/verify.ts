/** `svc costs verify` says what differs, and ends with a code that a script can go by. */
import type { CostsVerifyResponse } from '@svc/sdk';
import type { GeneratedSpec, Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';

/** As long as the server tries. */
const ANSWER_MS = 125_000;
const COLUMNS = ['table', 'row', 'problem'];

export function verify(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} Ends with 0 when nothing differs, and with 1 when something does.`,
    examples: [{ title: 'All of a team', cli: 'costs verify --team team_01' }],
    run: async (context) => {
      const { input, output, signal } = context;
      const options = { signal, timeoutMs: ANSWER_MS };
      const answer = await answerOf<CostsVerifyResponse>(context, input, options);
      const { intact, events, days, statements, entries, differences } = answer;
      const read = `${events} events, ${days} rows of days, ${statements} statements, ${entries} entries of credit`;
      // A file that it is written to says so too.
      if (isJson(output)) await output.value(answer);
      else if (differences.length > 0) await output.rows([differences], COLUMNS);
      else if (output.format === 'tsv') await output.rows([[{ problem: `intact: ${read}` }]], COLUMNS);
      if (intact) await output.note(`intact: ${read}`);
      else await output.note(`not intact: ${differences.length} differences in ${read}`);
      return intact ? EXIT.ok : EXIT.failed;
    },
  };
}
