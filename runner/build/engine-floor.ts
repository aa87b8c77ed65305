/** The versions of engines below which a Dockerfile was known to reach the machine that builds it. */
import { runCommand } from '../executor/command.ts';
import type { Engine } from '../executor/engine.ts';

const VERSION_MS = 10_000;

export type Version = readonly [major: number, minor: number, patch: number];

const FLOORS = {
  /** CVE-2024-1753, 9407, 9675, 9676 and 11218 of buildah, which podman contains. */
  podman: { version: [5, 3, 2], remedy: 'upgrade podman to 5.3.2 or newer' },
  /** CVE-2024-23651, 23652, 23653 of BuildKit 0.12.4 and 21626 of runc, which docker contains. */
  docker: { version: [25, 0, 2], remedy: 'upgrade docker to 25.0.2 or newer (BuildKit 0.12.5, runc 1.1.12)' },
} as const;

export interface EngineVersion {
  version: string;
  /** Absent when the version is high enough. */
  belowFloor?: { floor: string; remedy: string };
}

export async function engineVersion(engine: Pick<Engine, 'name' | 'program'>): Promise<EngineVersion> {
  const printed = await runCommand([engine.program, '--version'], { timeoutMs: VERSION_MS });
  const version = /\d+\.\d+(?:\.\d+)?/.exec(printed.stdout)?.[0] ?? 'unknown';
  return judge(engine.name, version);
}

/** A version that cannot be read counts as too old. */
export function judge(name: Engine['name'], version: string): EngineVersion {
  const { version: floor, remedy } = FLOORS[name];
  const below = !/^\d/.test(version) || isBelow(version, floor);
  return below ? { version, belowFloor: { floor: floor.join('.'), remedy } } : { version };
}

/** False for a version that cannot be read. */
export function isBelow(version: string, floor: Version): boolean {
  const parts = version.split('.').map(Number);
  const at = floor.findIndex((wanted, index) => (parts[index] ?? 0) !== wanted);
  return at !== -1 && (parts[at] ?? 0) < (floor[at] ?? 0);
}
