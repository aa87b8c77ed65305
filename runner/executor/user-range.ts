/**
 * Gives containers users of their own: inside, a task has the user that the image names; on the host it is
 * one of 65,536 users that nothing else has, nor any other container at that time. podman as root takes them
 * from the range of the user `containers`.
 */
import { readText } from './procfs.ts';

/** All ids that an image can name; the last one is nobody's. */
export const RANGE_IDS = 65_536;
const FILES = ['/etc/subuid', '/etc/subgid'];
/** The range of podman's own documentation, above what distributions and systemd allocate. */
const ADVICE = "echo 'containers:2147483647:2147483648' | tee -a /etc/subuid /etc/subgid";

/** Names the files that give `containers` no range large enough for one container; empty when both do. */
export function withoutRange(files: Readonly<Record<string, string | undefined>>): string[] {
  const suffices = (line: string): boolean => {
    const [user, first, count] = line.trim().split(':');
    return user === 'containers' && Number(first) > 0 && Number(count) >= RANGE_IDS;
  };
  return Object.entries(files).flatMap(([path, text = '']) =>
    text.split('\n').some(suffices) ? [] : [path],
  );
}

/**
 * Explains why tasks of podman as root share users of the host, with advice. `failure` is that of a probe
 * with users of its own.
 */
export async function adviceForPodman(failure: string): Promise<string> {
  const texts = await Promise.all(FILES.map(readText));
  const missing = withoutRange(Object.fromEntries(FILES.map((path, at) => [path, texts[at]])));
  return missing.length === 0
    ? `the engine gives them no users of their own: ${failure}`
    : `no range of users for "containers" in ${missing.join(' and ')}; run: ${ADVICE}`;
}

export const DOCKER_ADVICE =
  'the docker daemon maps no users; set "userns-remap": "default" in /etc/docker/daemon.json and restart it';
