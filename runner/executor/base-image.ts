/**
 * The image of runs that name none: made once, from this machine's own tools, without a network. It holds a
 * static busybox when there is one, otherwise a shell and the small tools with the libraries that they link.
 * Its name is a digest of its content, so a changed tool gives a new image and an unchanged one is found
 * again.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { failureText, findProgram, runCommand } from './command.ts';
import { writeTar, type TarEntry } from '@svc/proto/archive/tar.ts';

const COMMAND_TIMEOUT_MS = 60_000;
/** Each is copied with its interpreter and its libraries. */
const TOOLS =
  'sh cat sleep head tail echo env id ls dd mkdir rm test true false yes wc seq cp mv chmod date grep sed sort tr cut uname touch printf basename dirname tee mount ps'.split(
    ' ',
  );

const FOLDERS: TarEntry[] = [
  ...['bin', 'dev', 'etc', 'proc', 'run', 'sys'].map((path): TarEntry => ({
    type: 'directory',
    path,
    mode: 0o755,
  })),
  // The engine's tmpfs takes the mode of the folder that it covers; with a stricter one the task could not
  // write there.
  ...['tmp', 'workspace'].map((path): TarEntry => ({ type: 'directory', path, mode: 0o1777 })),
  file('etc/passwd', 'root:x:0:0:root:/:/bin/sh\ntask:x:65532:65532:task:/workspace:/bin/sh\n'),
  file('etc/group', 'root:x:0:\ntask:x:65532:\n'),
];

function file(path: string, text: string): TarEntry {
  return { type: 'file', path, mode: 0o644, content: Buffer.from(text) };
}

/** Finds the path of a busybox that runs in any root, or undefined. */
export async function findStaticBusybox(): Promise<string | undefined> {
  const path = findProgram('busybox');
  if (path === undefined) return undefined;
  const program = await realpath(path);
  return isStaticElf(await readFile(program)) ? program : undefined;
}

/**
 * An ELF program without an interpreter segment needs no loader and no libraries. 64-bit little-endian only.
 */
export function isStaticElf(bytes: Buffer): boolean {
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f45_4c46 || bytes[4] !== 2 || bytes[5] !== 1)
    return false;
  const [offset, entrySize, count] = [
    Number(bytes.readBigUInt64LE(32)),
    bytes.readUInt16LE(54),
    bytes.readUInt16LE(56),
  ];
  for (let index = 0; index < count; index += 1) {
    const at = offset + index * entrySize;
    if (at + 4 > bytes.length) return false;
    if (bytes.readUInt32LE(at) === 3) return false;
  }
  return count > 0;
}

/**
 * Makes a root filesystem for what this text runs, as an archive. Of busybox's links it holds the shell and
 * those that the text names: an engine takes longer to unpack and to commit the hundreds of others than to
 * run a step.
 */
export async function baseRootTar(text: string): Promise<Buffer> {
  const entries = await rootEntries(true);
  return writeTar(
    entries.filter(
      ({ type, path }) => type !== 'link' || path === 'bin/sh' || text.includes(path.slice('bin/'.length)),
    ),
  );
}

/**
 * It returns the tag of the base image in the engine's local storage, which it builds when it does not exist.
 * Tests alone use it without busybox.
 */
export async function ensureBaseImage(engine: string, dataDir: string, useBusybox = true): Promise<string> {
  if (process.platform !== 'linux')
    throw new Error('the base image is made of Linux programs; configure a default image');
  const tar = writeTar(await rootEntries(useBusybox));
  const tag = `localhost/svc-base:${createHash('sha256').update(tar).digest('hex').slice(0, 12)}`;
  const known = await runCommand([engine, 'image', 'inspect', '--format', '{{.Id}}', tag], {
    timeoutMs: COMMAND_TIMEOUT_MS,
  });
  if (known.code === 0) return tag;
  const path = join(dataDir, `base-image-${process.pid}.tar`);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  try {
    await writeFile(path, tar);
    const made = await runCommand([engine, 'import', path, tag], { timeoutMs: COMMAND_TIMEOUT_MS });
    if (made.code !== 0) throw new Error(`the base image cannot be made: ${failureText(made)}`);
    return tag;
  } finally {
    await rm(path, { force: true });
  }
}

async function rootEntries(useBusybox: boolean): Promise<TarEntry[]> {
  const busybox = useBusybox ? await findStaticBusybox() : undefined;
  return [...FOLDERS, ...(busybox === undefined ? await linkedEntries() : await busyboxEntries(busybox))];
}

async function busyboxEntries(path: string): Promise<TarEntry[]> {
  const listed = await runCommand([path, '--list'], { timeoutMs: COMMAND_TIMEOUT_MS });
  if (listed.code !== 0) throw new Error(`${path} does not list its applets: ${failureText(listed)}`);
  const applets = listed.stdout.split('\n').filter((name) => name !== '' && name !== 'busybox');
  return [
    { type: 'file', path: 'bin/busybox', mode: 0o755, content: await readFile(path) },
    ...applets.sort().map((name): TarEntry => ({ type: 'link', path: `bin/${name}`, target: 'busybox' })),
  ];
}

/** Libraries keep the paths at which the programs look for them. */
async function linkedEntries(): Promise<TarEntry[]> {
  const programs = TOOLS.map((name) => ({ name, path: findProgram(name) })).filter(
    (tool) => tool.path !== undefined,
  );
  const libraries = new Set<string>();
  const entries: TarEntry[] = [];
  for (const { name, path } of programs) {
    if (path === undefined) continue;
    entries.push({ type: 'file', path: `bin/${name}`, mode: 0o755, content: await readFile(path) });
    for (const library of await librariesOf(path)) libraries.add(library);
  }
  if (!entries.some((entry) => entry.path === 'bin/sh'))
    throw new Error('the base image needs a shell: install busybox-static');
  const folders = new Set<string>();
  for (const library of [...libraries].sort()) {
    for (let folder = dirname(library); folder !== '/'; folder = dirname(folder))
      folders.add(folder.slice(1));
    entries.push({ type: 'file', path: library.slice(1), mode: 0o755, content: await readFile(library) });
  }
  const made = [...folders].filter((path) => path !== 'bin').sort();
  return [...made.map((path): TarEntry => ({ type: 'directory', path, mode: 0o755 })), ...entries];
}

async function librariesOf(program: string): Promise<string[]> {
  const listed = await runCommand(['ldd', program], { timeoutMs: COMMAND_TIMEOUT_MS });
  if (listed.code !== 0) return []; // "not a dynamic executable": it needs no libraries.
  return parseLdd(listed.stdout);
}

/**
 * Reads lines like `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)` and `/lib64/ld-linux-x86-64.so.2
 * (0x…)`.
 */
export function parseLdd(text: string): string[] {
  return text
    .split('\n')
    .map((line) => /(?:=> )?(\/[^\s]+) \(0x[0-9a-f]+\)$/.exec(line.trim())?.[1])
    .filter((path): path is string => path !== undefined && basename(path) !== '');
}
