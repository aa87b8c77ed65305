/** `svc use` chooses the team, project and environment that commands work in where they name none. */
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storeProfile } from '../shell/config.ts';
import { agree } from '../shell/confirm.ts';
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import { CliError, UsageError } from '../shell/errors.ts';
import { Finder, type Match } from '../shell/finder.ts';
import { defined, type Json } from '../shell/paths.ts';
import { PLACE_FILE } from '../shell/place-file.ts';
import { placeInUse } from '../shell/place.ts';
import type { PlaceNames } from '../shell/place-kind.ts';

const ARGS = {
  place: {
    type: 'positional',
    required: false,
    description:
      'Name or id of a team, of a project, or of an environment: "first team", web, web/production.',
  },
  team: { type: 'string', valueHint: 'team', description: 'Team.' },
  project: { type: 'string', valueHint: 'project', description: 'Project. Its team comes with it.' },
  env: { type: 'string', valueHint: 'environment', description: 'Environment. Its project comes with it.' },
  here: {
    type: 'boolean',
    description: `Write it to ${PLACE_FILE} of this folder, which counts there and below, instead of the profile.`,
  },
  clear: { type: 'boolean', description: 'Forget what the profile chose.' },
} satisfies OwnArgs;

type Choosing = ContextOf<typeof ARGS>;

export const command = defineOwn({
  description: `Chooses the team, project or environment that commands work in where they name none. It is kept in the profile, or with --here in ${PLACE_FILE} of the folder, which names places and holds no address and no credential. Flags, the variables SVC_TEAM, SVC_PROJECT and SVC_ENVIRONMENT, and that file count before the profile.`,
  args: ARGS,
  answer: false,
  auth: 'required',
  examples: [
    { title: 'A team', cli: 'use "first team"' },
    { title: 'An environment, for this folder', cli: 'use web/production --here' },
    { title: 'No place any more', cli: 'use --clear' },
  ],
  run: choose,
});

/** A place from the widest part to the narrowest, each with its id and its name. */
type Chosen = Readonly<Record<keyof PlaceNames, Match | undefined>>;

async function choose(context: Choosing): Promise<void> {
  const { args, output } = context;
  const texts = [args.place, args.team, args.project, args.env].filter((text) => text !== undefined);
  if (args.clear === true) {
    if (texts.length > 0 || args.here === true) throw new UsageError('--clear stands alone');
    await keep(context, undefined);
    return output.note('nothing is chosen any more');
  }
  if (texts.length === 0 || (args.place !== undefined && texts.length > 1))
    throw new UsageError('name one place, or the flags --team, --project and --env', {
      hints: ['"svc status" shows what is in use'],
    });
  const chosen = await find(context);
  const { team, project, environment } = chosen;
  const path = args.here === true ? await writeHere(context, chosen) : undefined;
  if (path === undefined)
    await keep(
      context,
      defined({ team: team?.id, project: project?.id, environment: environment?.id }) as PlaceNames,
    );
  const shown = [team, project, environment].flatMap((match) => match?.about ?? []).join(' / ');
  await output.note(`in use: ${shown}${path === undefined ? '' : `, for ${path}`}`);
}

async function find(context: Choosing): Promise<Chosen> {
  const { args, signal } = context;
  // The place in use does not count for the one that is chosen, but for the team that a project may be in.
  const { team: inUse } = await placeInUse(context.io, await context.connection());
  const place =
    args.team !== undefined ? { team: { text: args.team, source: '--team' } } : defined({ team: inUse });
  const finder = new Finder(await context.client(), { place: place as object, signal });
  const key = args.place === undefined ? undefined : await keyOf(finder, args.place);
  const envText = key === 'environments' ? args.place : args.env;
  const projectText = key === 'projects' ? args.place : args.project;
  const teamText = key === 'teams' ? args.place : args.team;
  const projectScope =
    projectText === undefined ? {} : { projectId: await finder.idOf('projects', projectText) };
  const environment =
    envText === undefined
      ? undefined
      : await finder.environment(await finder.idOf('environments', envText, projectScope));
  const projectId = environment === undefined ? projectScope.projectId : String(environment['projectId']);
  const project = projectId === undefined ? undefined : await finder.project(projectId);
  const teamId =
    project === undefined ? await finder.idOf('teams', teamText ?? '') : String(project['teamId']);
  const team = (await finder.teams()).find(({ id }) => id === teamId);
  return {
    team: team ?? { id: teamId, about: teamId, thing: {} },
    project: project && named(project),
    environment: environment && named(environment),
  };
}

function named(thing: Json): Match {
  const { id, name } = thing;
  return { id: String(id), about: String(name ?? id), thing };
}

/** Tells the kind of a place that is named alone: by its id, by its stroke, or by what there is. */
async function keyOf(finder: Finder, text: string): Promise<'teams' | 'projects' | 'environments'> {
  const prefixes = { team_: 'teams', prj_: 'projects', env_: 'environments' } as const;
  for (const [prefix, key] of Object.entries(prefixes)) if (text.startsWith(prefix)) return key;
  if (text.includes('/')) return 'environments';
  const found = [];
  for (const key of ['teams', 'projects'] as const)
    for (const match of await finder.called(key, text)) found.push({ key, match });
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only.key;
  if (only !== undefined)
    throw new UsageError(`${found.length} places go by "${text}"; give the id of one`, {
      hints: found.map(({ match }) => match.about),
    });
  throw new CliError('not_found', `there is no team and no project "${text}"`, {
    exitCode: 5,
    hints: ['an environment is named by its project, too: web/production'],
  });
}

async function keep(context: Choosing, place: PlaceNames | undefined): Promise<void> {
  const { profile, profileName } = await context.connection();
  if (profile === undefined)
    throw new UsageError('there is no profile to keep it in, as you are not signed in', {
      hints: ['run "svc login"', `or write ${PLACE_FILE} with --here`, 'or set SVC_TEAM'],
    });
  const { place: _before, ...rest } = profile;
  await storeProfile(context.io, profileName, place === undefined ? rest : { ...rest, place });
}

/** The file is for people and goes into repositories: it holds names rather than ids. */
async function writeHere(context: Choosing, { team, project, environment }: Chosen): Promise<string> {
  const { io, globals } = context;
  const path = join(io.workFolder, PLACE_FILE);
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (isThere && !globals.yes)
    await agree(context, {
      refusal: `${path} is there already`,
      hint: '--yes replaces it',
      question: `${path} is there already. Replace it?`,
    });
  const { stringify } = await import('yaml');
  const names = defined({
    team: team?.thing['name'] ?? team?.id,
    project: project?.thing['slug'] ?? project?.id,
    environment: environment?.thing['name'] ?? environment?.id,
  });
  await writeFile(path, stringify(names));
  return path;
}
