/** Tells behind the output of a build what is known of its failure. */
import { Teams, type Build, type FailureSignature } from '@svc/sdk';
import type { Context } from '../shell/command.ts';
import { neutraliseLine } from '../shell/text.ts';
import { helpOf } from './failures.ts';

/** The reason is found a moment after the end: it is looked for so often, and with so much between. */
const LOOKS = 4;
const PAUSE_MS = 700;
/** A build that ended longer ago has its reason by now, or will have none. */
const FRESH_MS = 60_000;

/** Tells it on standard error. Where nothing is known, or it cannot be read, nothing is said. */
export async function tellFailure(
  context: Pick<Context, 'client' | 'io' | 'output' | 'signal'>,
  build: Pick<Build, 'id' | 'teamId' | 'finishedAt'>,
): Promise<void> {
  const found = await lookFor(context, build).catch(() => undefined);
  if (found === undefined) return;
  const { signature, count, template } = found;
  const times = count === 1 ? 'the first time' : `${count} times so far`;
  const [reason = ''] = template.split('\n');
  const help = helpOf(found).map((text) => `; ${text}`);
  await context.output.note(
    neutraliseLine(
      `failure ${signature}, ${times}: ${reason}${help.join('')} (svc failures show ${signature})`,
    ),
  );
}

async function lookFor(
  { client, io, signal }: Pick<Context, 'client' | 'io' | 'signal'>,
  { id, teamId, finishedAt }: Pick<Build, 'id' | 'teamId' | 'finishedAt'>,
): Promise<FailureSignature | undefined> {
  const teams = new Teams(await client());
  const isFresh = finishedAt !== undefined && io.now() - Date.parse(finishedAt) < FRESH_MS;
  for (let look = 1; ; look += 1) {
    const [found] = await teams.listFailureSignatures(teamId, { sourceId: id, limit: 1 }, { signal });
    if (found !== undefined || !isFresh || look === LOOKS) return found;
    await io.pause(PAUSE_MS, signal);
  }
}
