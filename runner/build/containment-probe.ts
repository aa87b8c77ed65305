/**
 * Proves that builds are contained on this machine: a real build attempts the attack of CVE-2024-1753 (a
 * mount whose source is a symbolic link to the root) and must neither see a file of the runner's data folder
 * nor leave one there. The proof is repeated when the engine, the kernel or the runner has changed.
 */
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { writeDurably } from '../disk/durable-file.ts';
import { baseRootTar } from '../executor/base-image.ts';
import { writeTar } from '@svc/proto/archive/tar.ts';
import type { Engine } from '../executor/engine.ts';
import { VERSION } from '../platform/version.ts';
import { containedCall } from './contained-engine.ts';
import { ownerOf, type Containment } from './containment.ts';
import { folderBind } from './containment-script.ts';
import { createControl } from './control.ts';
import { lastLines } from './process.ts';
import type { StorageDriver, Stores } from './team-store.ts';

const PROBE_MS = 120_000;
const LIMITS = { memoryMb: 512, cpus: 2 };
/** The preferred driver comes first. */
const DRIVERS: readonly StorageDriver[] = ['overlay', 'vfs'];

export interface ProofOptions {
  containment: Containment;
  stores: Stores;
  engine: Engine;
  /** Version of the engine. */
  version: string;
  dataDir: string;
}

/** Returns the storage driver that works; throws with the failure of the containment. */
export async function prove(options: ProofOptions): Promise<StorageDriver> {
  const path = join(options.dataDir, 'containment.json');
  const of = circumstances(options);
  const known = await readProof(path);
  if (known?.of === of) return known.driver;
  const failures: string[] = [];
  for (const driver of DRIVERS) {
    const failure = await tryDriver(options, driver);
    if (failure === undefined) {
      await writeDurably(path, JSON.stringify({ of, driver }), 0o600);
      return driver;
    }
    failures.push(`${driver}: ${failure}`);
  }
  throw new Error(`a build to prove it failed: ${failures.join('; ')}`);
}

function circumstances({ containment, engine, version }: ProofOptions): string {
  return [VERSION, release(), engine.program, version, JSON.stringify(containment.users)].join(' ');
}

async function readProof(path: string): Promise<{ of: string; driver: StorageDriver } | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as { of: string; driver: StorageDriver };
  } catch {
    return undefined; // There is no proof yet, or its file is torn.
  }
}

/** Returns how the containment failed; undefined when it held. */
async function tryDriver(options: ProofOptions, driver: StorageDriver): Promise<string | undefined> {
  const { containment, stores, engine } = options;
  const name = `svc-probe-${randomBytes(6).toString('hex')}`;
  const folder = join(options.dataDir, name);
  const canary = join(folder, 'canary');
  const context = join(folder, 'context');
  const store = await stores.take(name);
  const control = createControl(PROBE_MS);
  try {
    await mkdir(context, { recursive: true, mode: 0o700 });
    await writeFile(canary, 'seen');
    const text = dockerfile(canary);
    const files = {
      'root.tar': await baseRootTar(text),
      'link.tar': writeTar([{ type: 'link', path: 't', target: '/' }]),
      Dockerfile: text,
    };
    for (const [file, content] of Object.entries(files)) await writeFile(join(context, file), content);
    const owner = ownerOf(containment.users);
    if (owner !== undefined)
      for (const path of [context, ...Object.keys(files).map((file) => join(context, file))])
        await chown(path, owner.uid, owner.gid);
    const lines: string[] = [];
    const done = await containedCall(
      { containment, stores, driver },
      {
        engine,
        args: [
          'build',
          '--isolation=chroot',
          '--layers=false',
          `--file=${join(context, 'Dockerfile')}`,
          context,
        ],
        store,
        binds: [folderBind(context, false)],
        name,
        limits: LIMITS,
        onOutput: async (_stream, chunk) => void lines.push(Buffer.from(chunk).toString()),
      },
      control,
    );
    const output = lines.join('');
    if (/^svc-probe: seen$/m.test(output) || (await exists(`${canary}.written`)))
      return 'a build that tried to reach the data folder of this runner reached it';
    return /^svc-probe: ran$/m.test(output) ? undefined : lastLines(done);
  } finally {
    control.end();
    stores.giveBack(store);
    await stores.remove(store);
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The last step fails, so that nothing of the build is kept. An engine without the flaw mounts the root of
 * the first stage.
 */
function dockerfile(canary: string): string {
  const script = `echo 'svc-probe: ran'; [ ! -e '/mnt${canary}' ] || echo 'svc-probe: seen'; echo x >'/mnt${canary}.written'; exit 3`;
  return [
    'FROM scratch AS b',
    'ADD link.tar /',
    'FROM scratch',
    'ADD root.tar /',
    `RUN --mount=type=bind,from=b,source=/t,target=/mnt,rw ${JSON.stringify(['/bin/sh', '-c', script])}`,
    '',
  ].join('\n');
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
