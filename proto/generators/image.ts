/** Reads the contracts as descriptors, by one `buf build` of the workspace. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { type FileRegistry, create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  MethodOptionsSchema,
  MethodOptions_IdempotencyLevel,
} from '@bufbuild/protobuf/wkt';
import { createOptionReader } from '../http/options.ts';

const run = promisify(execFile);

/** The buf launcher of the pinned package, run by this Node. */
export const BUF = createRequire(import.meta.url).resolve('@bufbuild/buf/bin/buf');

/** It runs buf in `root`; a failure carries what buf printed. */
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

/**
 * The workspace at `root` and what it imports, as buf makes it, with source comments; and with what a
 * contract need not say: an RPC that is bound to GET has no side effects, which is what lets Connect's
 * clients GET it.
 */
export async function buildImage(root: string): Promise<FileDescriptorSet> {
  // An image is a descriptor set that also marks imports, in fields that are kept as they are.
  const image = fromBinary(FileDescriptorSetSchema, await buf(root, 'build', '-o', '-'));
  const registry = createFileRegistry(image);
  const options = createOptionReader(registry);
  for (const method of [...registry.files].flatMap((file) => file.services).flatMap((it) => it.methods)) {
    if (options.http(method)?.get === undefined) continue;
    method.proto.options ??= create(MethodOptionsSchema);
    method.proto.options.idempotencyLevel = MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  }
  return image;
}

/**
 * Reads descriptors of everything in the image. It takes no registry, so that options stay undecoded and are
 * read through any copy of their extensions.
 */
export async function loadImage(root: string): Promise<FileRegistry> {
  return createFileRegistry(await buildImage(root));
}
