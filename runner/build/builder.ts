/**
 * Decides how this runner builds images: contained where a real build has proved the containment, otherwise
 * with a warning in the output, or not at all.
 */
import { errorText } from '../platform/errors.ts';
import { BUILT_LABEL, createTeamImages, type TeamImages } from '../executor/team-images.ts';
import type { BuildEngine } from '../executor/executor.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import type { Log } from '../platform/log.ts';
import { createBaseImages, type BaseImages } from './base-images.ts';
import { ownCall, type ContainedHost } from './contained-engine.ts';
import { createContainment, ownerOf } from './containment.ts';
import { prove } from './containment-probe.ts';
import type { ContainedBuild } from './context.ts';
import type { Endpoint } from '../network/egress.ts';
import { engineVersion } from './engine-floor.ts';
import { unreadSyntax } from './engine-syntax.ts';
import { BuildFailed, MachineFailed } from './failure.ts';
import { createStores, noteUse, type TeamStore } from './team-store.ts';

const CLEAN_MS = 120_000;
const CLEAN_LIMITS = { memoryMb: 512, cpus: 2 };
/** Longer than any build takes from its image to its container. */
const DEPLOYED_HOURS = 25;

/** Longest reason in a poll in characters, by contract. */
const REASON_LENGTH_MAX = 200;

/** Says whether builds are contained on this machine. */
export type Isolation =
  | {
      contained: true;
      host: ContainedHost;
      baseImages: BaseImages;
      detail: string;
      flaws?: string;
      unread?: string;
    }
  /**
   * `why` is the missing part; `flaws` is the advice about an engine that is known to let builds out;
   * `unread` is what Dockerfiles must do without on this version.
   */
  | { contained: false; why: string; engine: string; flaws?: string; unread?: string };

export interface BuilderOptions {
  buildEngine: BuildEngine;
  dataDir: string;
  allowUncontained: boolean;
  allowedEgress: readonly Endpoint[];
  allowedRegistries: readonly Endpoint[];
  controlPlane?: Endpoint | undefined;
  /** Limit of all stores together, in MiB. */
  maxStoreMb: number;
  /** Free disk below which the runner takes no work, in MiB. */
  minFreeMb: number;
  log: Log;
  now: () => Date;
}

export function createBuilder(options: BuilderOptions) {
  const { buildEngine, allowUncontained, log } = options;
  const { engine } = buildEngine;
  const images = createTeamImages(options.dataDir);
  let isolation: Promise<Isolation> | undefined;
  let refusal: string | undefined;
  let tidying: Promise<void> = Promise.resolve();
  /** Stores in which a build ended badly since their last clean-up. */
  const dirty = new Set<string>();
  const tidyLater = (host: ContainedHost): void => {
    tidying = tidying
      .then(async () => await holdLimits(host, options))
      .catch((error: unknown) =>
        log.error({ problem: errorText(error) }, 'stores of images cannot be held within their bound'),
      );
  };
  return {
    allowUncontained,
    images,
    /**
     * The reasons why it takes no builds any more: it was offered one that a machine which builds for many
     * teams must refuse.
     */
    notReady: () => (refusal === undefined ? [] : [refusal]),
    noteRefusal(reason: string) {
      refusal ??= reason.slice(0, REASON_LENGTH_MAX);
    },
    /** Detected once. */
    async isolation() {
      isolation ??= detectIsolation(options).then((found) => {
        if (found.contained) {
          log.info({ containment: found.detail }, 'builds are contained');
          // A runner with too little disk gets no build after which it could make room.
          tidyLater(found.host);
        } else
          log.warn({ problem: found.why, engine: found.engine }, 'builds are not contained on this machine');
        return found;
      });
      return await isolation;
    },
    async open({ host, baseImages }: Isolation & { contained: true }, team: string): Promise<ContainedBuild> {
      await tidying;
      const store = await host.stores.take(team);
      await noteUse(store, options.now());
      const { allowedEgress, allowedRegistries, controlPlane } = options;
      return { host, store, baseImages, images, allowedEgress, allowedRegistries, controlPlane };
    },
    /**
     * Cleans up after a build's processes and folders are gone: its image, and, when it ended badly and was
     * the team's last, the containers and files that its team's builds left. Layers stay, within the limit of
     * all stores.
     */
    async close({ host, store }: ContainedBuild, build: { tag: string; name: string; well: boolean }) {
      if (!build.well) dirty.add(store.key);
      const last = host.stores.giveBack(store);
      const all = last && dirty.delete(store.key);
      await cleanStore(host, engine, { store, all, ...build });
      tidyLater(host);
    },
  };
}

export type Builder = ReturnType<typeof createBuilder>;

async function holdLimits(
  host: ContainedHost,
  { buildEngine, maxStoreMb, minFreeMb, log }: BuilderOptions,
): Promise<void> {
  for (const store of await host.stores.surplus({ maxMb: maxStoreMb, minFreeMb })) {
    log.info(
      { team: store.key },
      'the images and caches of a team go, because all together are over --max-store-mb or leave less than twice --min-free-mb',
    );
    await emptyStore(host, buildEngine.engine, store);
    await host.stores.remove(store);
  }
}

export async function detectIsolation({
  buildEngine,
  dataDir,
}: Pick<BuilderOptions, 'buildEngine' | 'dataDir'>): Promise<Isolation> {
  const { engine } = buildEngine;
  const { version, belowFloor } = await engineVersion(engine);
  const named = `${engine.name} ${version}${belowFloor === undefined ? '' : ', which has known holes'}`;
  const without = unreadSyntax(engine.name, version);
  const notes = {
    ...(belowFloor === undefined ? {} : { flaws: belowFloor.remedy }),
    ...(without.length === 0 ? {} : { unread: without.join(', ') }),
  };
  try {
    if (engine.name !== 'podman')
      throw new Error("docker builds in its own daemon, which is out of this runner's hands; use podman");
    const containment = await createContainment();
    const stores = createStores({ dataDir, owner: ownerOf(containment.users) });
    const driver = await prove({ containment, stores, engine, version, dataDir });
    const host = { containment, stores, driver };
    const detail = `images are built with ${named}, and builds are contained: ${containment.describe()}, storage ${driver}`;
    return {
      contained: true,
      host,
      baseImages: createBaseImages({ host, engine, images: createTeamImages(dataDir) }),
      detail,
      ...notes,
    };
  } catch (error) {
    return { contained: false, why: errorText(error), engine: named, ...notes };
  }
}

/** Returns a warning for the build's output; throws when the build must not run here. */
export function admit(isolation: Isolation, shared: boolean, allowUncontained: boolean): string | undefined {
  if (isolation.contained) return undefined;
  const remedy = isolation.flaws === undefined ? '' : `; ${isolation.flaws}`;
  const state = `builds are not contained on this machine (${isolation.why}; ${isolation.engine}${remedy})`;
  if (shared && !allowUncontained)
    throw new MachineFailed(
      `${state}, and a machine that builds for many teams refuses them: its operator runs svc-runner doctor, or allows it with --allow-uncontained-builds`,
    );
  return `warning: ${state}: a Dockerfile can reach this machine`;
}

/** The phases of a buildpack build are containers of the machine's own engine. */
export function admitBuildpack(shared: boolean, allowUncontained: boolean): void {
  if (shared && !allowUncontained)
    throw new BuildFailed(
      'builds by buildpacks are not contained, and a machine that builds for many teams refuses them: add a Dockerfile',
    );
}

/** Removes images of deploys that nothing runs any more; the engine keeps those that are in use. */
export async function forgetDeployed(engine: Engine, images: TeamImages): Promise<void> {
  await images.forget(engine, DEPLOYED_HOURS * 3_600_000);
  const filters = [`--filter=label=${BUILT_LABEL}`, `--filter=until=${DEPLOYED_HOURS}h`];
  await runEngine(engine, CLEAN_MS, 'image', 'prune', '--all', '--force', ...filters);
}

/**
 * Containers belong to builds that were killed, because no other build of the team runs. Layers stay for the
 * team's next build.
 */
const CLEAN_ALL = `p=$1; t=$2
"$p" rmi --no-prune --force "$t" >/dev/null 2>&1
ids=$("$p" ps --all --quiet --external) && [ -n "$ids" ] && "$p" rm --force $ids
cd /var/tmp && find . -mindepth 1 -maxdepth 1 ! -name 'buildah-cache*' -exec rm -rf {} +
exit 0`;

async function cleanStore(
  host: ContainedHost,
  engine: Engine,
  { store, all, tag, name }: { store: TeamStore; all: boolean; tag: string; name: string },
): Promise<void> {
  await ownCall(host, CLEAN_MS, {
    engine,
    args: all
      ? { command: ['sh', '-c', CLEAN_ALL, 'svc-clean', engine.program, tag] }
      : ['rmi', '--no-prune', '--force', tag],
    store,
    name: `${name}.clean`,
    limits: CLEAN_LIMITS,
  });
}

/** The engine's own user deletes the files, because they belong to users that only its namespace has. */
async function emptyStore(host: ContainedHost, engine: Engine, store: TeamStore): Promise<void> {
  await ownCall(host, CLEAN_MS * 5, {
    engine,
    args: { command: ['find', '/var/lib/containers/storage', '/var/tmp', '-mindepth', '1', '-delete'] },
    store,
    name: `svc-store-${process.pid}`,
    limits: CLEAN_LIMITS,
  });
}
