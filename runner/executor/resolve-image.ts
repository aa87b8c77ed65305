/**
 * Resolves the name of an image to its full id, by which it is then run. The engine is only asked for full
 * names, which it takes for no id, and its answer must bear that very name: engines also look for the
 * beginnings of ids, and podman for the endings of names.
 *
 * A team's own images come first, by the names that are noted for it. Of what else is in the engine, a
 * machine that works for many teams gives only what its operator put there; every other image is as one that
 * does not exist.
 */
import { fullName, parseImage } from '@svc/proto/images/reference.ts';
import { failureText, runCommand } from './command.ts';
import { engineArgv, type Engine } from './engine.ts';
import { SandboxError } from './supervise.ts';
import { BUILT_LABEL, BUILT_REPOSITORY, type TeamImages } from './team-images.ts';

/** The hosts of a name without a host, in the order in which the engine itself looks. */
const HOSTS = { podman: ['localhost', 'docker.io'], docker: ['docker.io'] } as const;
const LABELS = { podman: '.Labels', docker: '.Config.Labels' } as const;
export const NOT_THERE =
  /image not known|no such image|unable to find image|does not resolve to an image|not found in local storage/i;

/** The one whose work names an image. */
export interface ImageScope {
  images: Pick<TeamImages, 'find' | 'brought'>;
  /** Absent from a control plane that does not send it: then no team's images are found. */
  team?: string | undefined;
  /** The machine works for teams that do not trust each other. */
  shared: boolean;
}

/** Rejects with a SandboxError when there is no image of this name for the team. */
export async function resolveImage(engine: Engine, reference: string, scope: ImageScope): Promise<string> {
  const id = await findImage(engine, reference, scope);
  if (id === undefined) throw new SandboxError(notThere(engine, reference));
  return id;
}

export async function findImage(
  engine: Engine,
  reference: string,
  scope: ImageScope,
): Promise<string | undefined> {
  const { team, images, shared } = scope;
  const own = team === undefined ? undefined : await images.find(team, reference);
  if (own !== undefined && (await inspect(engine, own.name))?.id === own.id) return own.id;
  const parsed = parseImage(reference);
  for (const host of HOSTS[engine.name]) {
    const name = fullName(parsed, host);
    const found = await inspect(engine, name);
    if (found?.names.includes(name) === true && (!shared || (await isOperators(found, name, images))))
      return found.id;
    if (parsed.host !== undefined) break;
  }
  return undefined;
}

/** What builds and deploys brought has a label or a name of theirs, or is noted. */
async function isOperators(
  { labels }: Inspected,
  name: string,
  images: Pick<TeamImages, 'brought'>,
): Promise<boolean> {
  if (labels[BUILT_LABEL] !== undefined || name.startsWith(`${BUILT_REPOSITORY}:`)) return false;
  return !(await images.brought()).includes(name);
}

export function notThere(engine: Engine, image: string): string {
  return `image ${image} is not on this machine and sandboxes never pull; run: ${engine.name} pull ${image}`;
}

interface Inspected {
  id: string;
  names: string[];
  labels: Record<string, string>;
}

/** Returns undefined when the engine has no image of this name. */
async function inspect(engine: Engine, name: string): Promise<Inspected | undefined> {
  const format = `--format={{.Id}} {{json .RepoTags}} {{json .RepoDigests}} {{json ${LABELS[engine.name]}}}`;
  const argv = engineArgv(engine, 'image', 'inspect', format, name);
  const asked = await runCommand(argv, { timeoutMs: engine.timeouts.callMs });
  if (asked.code !== 0) {
    if (asked.failure === undefined && NOT_THERE.test(asked.stderr)) return undefined;
    throw new SandboxError(`${engine.name} cannot look for image ${name}: ${failureText(asked)}`);
  }
  const [, id, tags, digests, labels = 'null'] =
    /^((?:sha256:)?[0-9a-f]{64}) (\S+) (\S+) (.+)$/s.exec(asked.stdout.trim()) ?? [];
  if (id === undefined) throw new SandboxError(`${engine.name} says no id of image ${name}`);
  return {
    id,
    names: [...namesIn(tags), ...namesIn(digests)],
    labels: (JSON.parse(labels) as Record<string, string> | null) ?? {},
  };
}

/** docker leaves out the parts of a name that are its defaults. */
function namesIn(json = 'null'): string[] {
  const names = (JSON.parse(json) as string[] | null) ?? [];
  return names.flatMap((name) => {
    try {
      return [fullName(parseImage(name), 'docker.io')];
    } catch {
      return []; // The name is `<none>` or the like.
    }
  });
}
