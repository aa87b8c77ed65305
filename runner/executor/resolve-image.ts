/**
 * Resolves the name of an image to its full id, by which it is then run. The engine is only asked for full names, which it takes for no id, and its answer
 * must bear that very name: engines also look for the beginnings of ids, and podman for the endings of names.
 */
import { fullName, parseImage } from '@svc/proto/images/reference.ts';
import { failureText, runCommand } from './command.ts';
import { engineArgv, type Engine } from './engine.ts';
import { SandboxError } from './supervise.ts';

/** The hosts of a name without a host, in the order in which the engine itself looks. */
const HOSTS = { podman: ['localhost', 'docker.io'], docker: ['docker.io'] } as const;
const FORMAT = '--format={{.Id}} {{json .RepoTags}} {{json .RepoDigests}}';
export const NOT_THERE =
  /image not known|no such image|unable to find image|does not resolve to an image|not found in local storage/i;

/** Rejects with a SandboxError when there is no image of this name. */
export async function resolveImage(engine: Engine, reference: string): Promise<string> {
  const parsed = parseImage(reference);
  for (const host of HOSTS[engine.name]) {
    const id = await idOf(engine, fullName(parsed, host));
    if (id !== undefined) return id;
    if (parsed.host !== undefined) break;
  }
  throw new SandboxError(notThere(engine, reference));
}

export function notThere(engine: Engine, image: string): string {
  return `image ${image} is not on this machine and sandboxes never pull; run: ${engine.name} pull ${image}`;
}

async function idOf(engine: Engine, name: string): Promise<string | undefined> {
  const argv = engineArgv(engine, 'image', 'inspect', FORMAT, name);
  const asked = await runCommand(argv, { timeoutMs: engine.timeouts.callMs });
  if (asked.code !== 0) {
    if (asked.failure === undefined && NOT_THERE.test(asked.stderr)) return undefined;
    throw new SandboxError(`${engine.name} cannot look for image ${name}: ${failureText(asked)}`);
  }
  const [, id, tags, digests] = /^((?:sha256:)?[0-9a-f]{64}) (\S+) (\S+)$/.exec(asked.stdout.trim()) ?? [];
  if (id === undefined) throw new SandboxError(`${engine.name} says no id of image ${name}`);
  return [...namesIn(tags), ...namesIn(digests)].includes(name) ? id : undefined;
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
