/** `svc status` shows what commands work with: address, account, team, project and environment, and why. */
import { Account, SvcApiError } from '@svc/sdk';
import type { Context, Own } from '../shell/command.ts';
import { CliError, UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import type { Finder } from '../shell/finder.ts';
import { placeInUse, type Place } from '../shell/place.ts';
import { PLACE_KINDS, type PlaceKind } from '../shell/place-kind.ts';
import { credentialIn } from '../auth/status.ts';
import { finderOf } from '../shell/settle.ts';

export const command: Own = {
  description:
    'Shows address, account, team, project and environment in use, and where each comes from. Ends with 4 when not signed in, and with 1 when something in use is not there.',
  auth: 'optional',
  answer: {
    baseUrl: '',
    account: '',
    credentialFrom: '',
    ...Object.fromEntries(PLACE_KINDS.map((kind) => [kind, { id: '', name: '', from: '', problem: '' }])),
  },
  run: showStatus,
};

async function showStatus(context: Context): Promise<number> {
  const { baseUrl, source } = await credentialIn(context);
  const { email, userId } = await new Account(await context.client()).whoami({ signal: context.signal });
  const place = await placeInUse(context.io, await context.connection());
  const finder = await finderOf(context);
  const shown: Record<string, PartInUse> = {};
  for (const kind of PLACE_KINDS) shown[kind] = await partInUse(kind, { place, finder });
  await context.output.value({ baseUrl, account: email ?? userId, credentialFrom: source, ...shown });
  return Object.values(shown).some(({ problem }) => problem !== undefined) ? EXIT.failed : EXIT.ok;
}

interface PartInUse {
  readonly id?: string;
  readonly name?: string;
  readonly from?: string;
  readonly problem?: string;
}

/** The place in use may be gone, or be out of reach of the credential. */
async function partInUse(
  kind: PlaceKind,
  { place, finder }: { readonly place: Place; readonly finder: Finder },
): Promise<PartInUse> {
  const from = place[kind]?.source;
  try {
    const id = await finder.inUse(kind);
    if (id === undefined) return {};
    const name = await nameOf(kind, id, finder);
    return { id, ...(name === undefined ? {} : { name }), from: from ?? impliedBy(kind, place) };
  } catch (error) {
    if (!(error instanceof SvcApiError || error instanceof CliError || error instanceof UsageError))
      throw error;
    if (error instanceof SvcApiError && error.status === 401) throw error;
    return {
      ...(from === undefined ? {} : { from }),
      problem: `${place[kind]?.text ?? kind}: ${error.message}`,
    };
  }
}

async function nameOf(kind: PlaceKind, id: string, finder: Finder): Promise<string | undefined> {
  if (kind === 'team') {
    const team = (await finder.teams()).find((match) => match.id === id);
    if (team === undefined) throw new CliError('not_found', 'the credential does not reach it');
    return String(team.thing['name'] ?? id);
  }
  const { name } = kind === 'project' ? await finder.project(id) : await finder.environment(id);
  return typeof name === 'string' ? name : undefined;
}

function impliedBy(kind: PlaceKind, place: Place): string {
  const inner = PLACE_KINDS.slice(PLACE_KINDS.indexOf(kind) + 1).find((each) => place[each] !== undefined);
  return inner === undefined ? 'the only team that the credential reaches' : `its ${inner}`;
}
