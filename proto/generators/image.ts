/** Reads the contracts as descriptors, by one `buf build` of the workspace. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import {
  type DescMessage,
  type FileRegistry,
  createFileRegistry,
  fromBinary,
  getExtension,
  hasExtension,
  setExtension,
} from '@bufbuild/protobuf';
import {
  type FileDescriptorSet,
  FileDescriptorSetSchema,
  MethodOptions_IdempotencyLevel,
} from '@bufbuild/protobuf/wkt';
import { http } from '../gen/google/api/annotations_pb.ts';
import type { HttpRule } from '../gen/google/api/http_pb.ts';
import { variablesIn } from './behaviors.ts';

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
 * clients GET it, and the body of a POST, PUT or PATCH is the whole request.
 */
export async function buildImage(root: string): Promise<FileDescriptorSet> {
  // An image is a descriptor set that also marks imports, in fields that are kept as they are.
  const image = fromBinary(FileDescriptorSetSchema, await buf(root, 'build', '-o', '-'));
  const { files } = createFileRegistry(image);
  for (const { input, proto } of [...files].flatMap((file) => file.services).flatMap((it) => it.methods)) {
    if (proto.options === undefined || !hasExtension(proto.options, http)) continue;
    const rule = getExtension(proto.options, http);
    for (const one of [rule, ...rule.additionalBindings]) completeBody(one, input);
    setExtension(proto.options, http, rule);
    if (rule.pattern.case === 'get')
      proto.options.idempotencyLevel = MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  }
  return image;
}

/** A PUT whose path holds the whole request has no body. */
function completeBody(rule: HttpRule, { fields }: DescMessage): void {
  if (rule.body !== '') return;
  const { case: verb, value: path } = rule.pattern;
  const hasBody =
    verb === 'post' ||
    verb === 'patch' ||
    (verb === 'put' && fields.some(({ name }) => !variablesIn(path).includes(name)));
  if (hasBody) rule.body = '*';
}

/**
 * Reads descriptors of everything in the image. It takes no registry, so that options stay undecoded and are
 * read through any copy of their extensions.
 */
export async function loadImage(root: string): Promise<FileRegistry> {
  return createFileRegistry(await buildImage(root));
}
