/** The contracts as descriptors: one `buf build` of the workspace. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { type FileRegistry, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const run = promisify(execFile);

/** The buf launcher of the pinned package, run by this Node. */
export const BUF = createRequire(import.meta.url).resolve('@bufbuild/buf/bin/buf');

/** Runs buf in `root`; a failure carries what buf printed. */
export async function buf(root: string, ...args: string[]): Promise<Buffer> {
  try {
    const { stdout } = await run(process.execPath, [BUF, ...args], {
      cwd: root,
      encoding: 'buffer',
      maxBuffer: 64 << 20,
    });
    return stdout;
  } catch (error) {
    if (!isExecError(error)) throw error;
    const said = `${error.stdout.toString()}${error.stderr.toString()}`.trim();
    throw new Error(`buf ${args[0]} failed with exit code ${error.code}:\n${said}`, { cause: error });
  }
}

interface ExecError extends Error {
  readonly code: number | string;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

function isExecError(error: unknown): error is ExecError {
  return error instanceof Error && 'stdout' in error && 'stderr' in error && 'code' in error;
}

/** Descriptors of every file of the workspace at `root` and of what they import, with source comments. */
export async function loadImage(root: string): Promise<FileRegistry> {
  const image = await buf(root, 'build', '--as-file-descriptor-set', '-o', '-');
  // Without a registry, so that options stay undecoded and can be read through any copy of their extensions.
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
}
