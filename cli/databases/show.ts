/** `svc database show` says how the database of an environment stands and how old its newest backup is. */
import type { HostedDatabase } from '@svc/sdk';
import { formatBytes } from '../shell/cells.ts';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { EXIT } from '../shell/exit.ts';
import { answerOf, printAnswer } from '../shell/operation.ts';
import { isJson } from '../shell/output.ts';
import { labelled, neutraliseLine } from '../shell/text.ts';
import { formatRelative } from '../shell/time.ts';

const WIDTH = 14;
/** A database that is none of these serves nobody. */
const WELL: readonly HostedDatabase['state'][] = ['ready', 'configured'];
const COMING: readonly HostedDatabase['state'][] = ['requested', 'provisioning'];

export function show(_generated: GeneratedSpec): Own {
  return {
    description:
      'Says how the database of an environment stands: version, variable, and the age of its newest backup. Ends with 0 when it is ready, with 8 when it is still being brought up, and with 1 otherwise.',
    examples: [{ title: 'How it stands, and when it was backed up', cli: 'database show --env env_01' }],
    exits: [EXIT.pending],
    run: showDatabase,
  };
}

async function showDatabase(context: Context): Promise<number> {
  const { output, io } = context;
  const database = await answerOf<HostedDatabase>(context);
  if (isJson(output)) await printAnswer(context, database);
  else await output.raw(`${linesOf(database, io.now()).map(neutraliseLine).join('\n')}\n`);
  const { state } = database;
  return WELL.includes(state) ? EXIT.ok : COMING.includes(state) ? EXIT.pending : EXIT.failed;
}

function linesOf(
  { type, image, imageVersion, state, problem, variable, backup, retainedUntil }: HostedDatabase,
  nowMs: number,
): string[] {
  const ago = (at: string): string => formatRelative(Date.parse(at), nowMs);
  const good =
    backup?.goodAt === undefined ? 'none yet' : `${ago(backup.goodAt)}, ${formatBytes(backup.bytes)}`;
  const failed = backup?.state === 'failed' ? `; the last one failed: ${backup.problem}` : '';
  const rows = {
    database: `${type} ${imageVersion} (${image}), ${state}${problem === undefined ? '' : `: ${problem}`}`,
    variable: `${variable}, in the deployed container alone`,
    ...(state !== 'configured' && { backup: `${good}${failed}` }),
    ...(retainedUntil !== undefined && { 'content goes': ago(retainedUntil) }),
  };
  const line = labelled(WIDTH);
  return Object.entries(rows).map(([label, text]) => line(label, text));
}
