/** Counts what a daemon has not delivered yet: journal, outbox, spool. */
import { readdir } from 'node:fs/promises';
import { openGrants } from '../../disk/journal.ts';
import { listSpools } from '../../output/log-spool.ts';
import { isMissing } from '../../platform/errors.ts';
import { type CheckContext, type CheckGroup, type Finding, ok, warn } from '../check.ts';

export const backlog: CheckGroup = async (context, check) =>
  await check('backlog', async () => await look(context));

async function look({ paths }: CheckContext): Promise<Finding> {
  const grants = openGrants(paths.journal);
  const [results, spools] = await Promise.all([
    resultsIn(paths.outbox),
    listSpools(paths.spool).catch((error: unknown) => {
      if (isMissing(error)) return { bytes: 0 };
      throw error;
    }),
  ]);
  const detail = `${grants} open grants in the journal, ${results} results and ${spools.bytes} bytes of output wait`;
  if (results === 0) return ok(detail);
  return warn(detail, 'they are delivered as soon as a daemon runs here and reaches the control plane');
}

async function resultsIn(folder: string): Promise<number> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.json')).length;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
}
