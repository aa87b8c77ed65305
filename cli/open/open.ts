/** `svc open` opens the console at a thing, or at the place in use. */
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { CliError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { isCalled, theOne, type Finder, type Match } from '../shell/finder.ts';
import { isJson } from '../shell/output.ts';
import type { Json } from '../shell/paths.ts';
import { finderOf } from '../shell/settle.ts';
import { consoleUrl, isWholeId, kindKeyOfId, pageUrl } from './console.ts';

const ARGS = {
  thing: {
    type: 'positional',
    required: false,
    description:
      'Name or id of what the team has: a project, web/production, a runner, a run, a build, a release. Default: the environment, project or team in use.',
  },
  teamId: { type: 'string', flag: 'team', description: 'Team id.' },
  projectId: { type: 'string', flag: 'project', description: 'Project id.' },
  environmentId: { type: 'string', flag: 'env', description: 'Environment id.' },
  print: { type: 'boolean', description: 'Print the address and open nothing.' },
} satisfies OwnArgs;

type Opening = ContextOf<typeof ARGS>;

export const command = defineOwn({
  description:
    'Opens the console in the browser, at a thing or at the place in use. Over SSH and without a display it prints the address, as it does with --print and --json.',
  args: ARGS,
  answer: { url: '' },
  auth: 'required',
  examples: [
    { title: 'The place in use', cli: 'open' },
    { title: 'An environment', cli: 'open web/production' },
    { title: 'The address of a run', cli: 'open run_01 --print' },
  ],
  run: open,
});

async function open(context: Opening): Promise<void> {
  const { args, output, io } = context;
  const url = args.thing === undefined ? await urlOfPlace(context) : await urlOf(context, args.thing);
  if (isJson(output)) await output.value({ url });
  else if (args.print !== true && (await io.browse(url))) await output.progress(`opened ${url}`);
  else await output.raw(`${url}\n`);
}

/** The narrowest that is named or else in use. */
async function urlOfPlace(context: Opening): Promise<string> {
  const { teamId, projectId, environmentId } = context.args;
  const { baseUrl } = await context.connection();
  const at = (key: string, id: string): string => pageUrl(baseUrl, key, { id }) ?? consoleUrl(baseUrl);
  if (environmentId !== undefined) return at('environments', environmentId);
  if (projectId !== undefined) return at('projects', projectId);
  if (teamId !== undefined) return at('teams', teamId);
  const finder = await finderOf(context);
  const keys = { environment: 'environments', project: 'projects', team: 'teams' } as const;
  for (const kind of ['environment', 'project', 'team'] as const) {
    const id = await finder.inUse(kind);
    if (id !== undefined) return at(keys[kind], id);
  }
  return consoleUrl(baseUrl);
}

async function urlOf(context: Opening, text: string): Promise<string> {
  const { baseUrl } = await context.connection();
  const page = (id: string, where: Json = {}): string | undefined =>
    pageUrl(baseUrl, kindKeyOfId(id) ?? '', { ...where, id });
  // The addresses of many things need no more than their ids.
  const direct = isWholeId(text) ? page(text) : undefined;
  if (direct !== undefined) return direct;
  const finder = await finderOf(context);
  const teamId = context.args.teamId ?? (await finder.inUse('team'));
  const matches = await candidates(context, finder, { text, teamId });
  if (matches.length === 0) {
    // The console may know a thing that the search does not: it looks in the same team.
    const unseen = isWholeId(text) ? page(text, { teamId }) : undefined;
    if (unseen !== undefined) return unseen;
    if (teamId === undefined) throw await finder.unknown('team');
  }
  const { id, about, thing } = theOne('thing', text, matches);
  const url = page(id, thing);
  if (url !== undefined) return url;
  throw new CliError('no_page', `${about} has no page in the console`, { exitCode: EXIT.notFound });
}

/** All that go by the text: teams and projects anywhere, and what the team has. */
async function candidates(
  { args }: Opening,
  finder: Finder,
  { text, teamId }: { readonly text: string; readonly teamId: string | undefined },
): Promise<readonly Match[]> {
  const places = text.includes('/')
    ? await environmentsAt(finder, text)
    : [...(await finder.called('teams', text)), ...(await finder.called('projects', text))];
  const hits = teamId === undefined ? [] : await finder.search(teamId, text);
  const inTeam: readonly Match[] = hits
    .filter((hit) => isCalled({ id: 'id', names: ['name'] }, hit, text) || hit['id'] === text)
    .map((hit) => ({ id: String(hit['id']), about: aboutOf(hit), thing: { ...hit, teamId } }))
    .filter(({ id }) => kindKeyOfId(id) !== undefined);
  const all = [...new Map([...places, ...inTeam].map((match) => [match.id, match])).values()];
  const project = args.projectId ?? (all.length > 1 ? await finder.inUse('project') : undefined);
  const inside = all.filter(({ thing }) => project !== undefined && thing['projectId'] === project);
  return inside.length > 0 || args.projectId !== undefined ? inside : all;
}

async function environmentsAt(finder: Finder, text: string): Promise<readonly Match[]> {
  try {
    return [{ id: await finder.idOf('environments', text), about: text, thing: {} }];
  } catch (error) {
    if (error instanceof CliError && error.exitCode === EXIT.notFound) return [];
    throw error;
  }
}

function aboutOf({ kind, name, id }: Json): string {
  return `${String(kind)} ${typeof name === 'string' ? `${name} (${String(id)})` : String(id)}`;
}
