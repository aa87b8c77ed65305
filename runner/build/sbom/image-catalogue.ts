/**
 * This file lists the packages of an image of the build's engine: a container is created and never started,
 * its files pass by as a tar stream, and it is removed whatever happened. Nothing of the image runs, and
 * nothing of it is written to the disk by this runner.
 */
import { TransformStream } from 'node:stream/web';
import { errorText } from '../../platform/errors.ts';
import { engineArgv } from '../../executor/engine.ts';
import { containedCall } from '../contained-engine.ts';
import { call, engineCall, engineEnv, type BuildContext } from '../context.ts';
import { createControl } from '../control.ts';
import { lastLines, type ProcessOptions, type ProcessResult } from '../process.ts';
import { catalogue, type Catalogue } from './catalogue.ts';

const CATALOGUE_MS = 60_000;
const REMOVE_MS = 30_000;
const MESSAGE_LENGTH_MAX = 1_000;
/** Engines ask for a command where the image names none. It never starts, so it need not exist. */
const NO_COMMAND = '/none';
/**
 * podman opens /dev/stdout, which fails for the socket that Node gives to a process as its output, and works
 * for a pipe. The exit code goes past the pipe by descriptor 6; the engine does not get it, because a process
 * that it leaves behind would hold it open.
 */
const THROUGH_PIPE = `exec 5>&1
code=$({ { "$@" 5>&- 6>&-; echo $? >&6; } | cat >&5 5>&-; } 6>&1)
exit "$code"`;

export interface ImageCatalogueOptions {
  /** A name of the build's engine, see localTag. */
  image: string;
  signal: AbortSignal;
  timeoutMs?: number;
}

/** Never rejects: a build does not fail for want of a list. */
export async function catalogueImage(
  context: BuildContext,
  { image, signal, timeoutMs = CATALOGUE_MS }: ImageCatalogueOptions,
): Promise<{ catalogue: Catalogue } | { problem: string }> {
  const control = createControl(timeoutMs);
  const stopped = AbortSignal.any([signal, context.control.term]);
  const stop = () => control.stop('cancelled', 0);
  stopped.addEventListener('abort', stop);
  if (stopped.aborted) stop();
  const container = `${context.workspace.name}-sbom`;
  let problem: string | undefined;
  try {
    await createContainer({ ...context, control }, container, image);
    return { catalogue: await readContainer({ ...context, control }, container) };
  } catch (error) {
    problem = errorText(error);
  } finally {
    stopped.removeEventListener('abort', stop);
    control.end();
    await removeContainer(context, container);
  }
  if (control.cause === 'timeout') return { problem: `the image was not read within ${timeoutMs / 1_000} s` };
  return { problem: control.cause === undefined ? problem : 'the build was stopped' };
}

async function callEngine(context: BuildContext, ...args: readonly string[]): Promise<ProcessResult> {
  return await engineCall(context, { args, binds: [], network: 'none' });
}

async function createContainer(context: BuildContext, container: string, image: string): Promise<void> {
  // docker cannot leave out the volumes that an image declares; they are removed with the container.
  const volumes = context.engine.engine.name === 'podman' ? ['--image-volume=ignore'] : [];
  const flags = [`--name=${container}`, '--pull=never', '--network=none', ...volumes];
  const created = await callEngine(context, 'create', ...flags, '--', image, NO_COMMAND);
  if (created.code !== 0) throw new Error(`no container can be made of the image: ${lastLines(created)}`);
}

async function readContainer(context: BuildContext, container: string): Promise<Catalogue> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  let message = '';
  let isCut = false;
  const onOutput = async (stream: 'stdout' | 'stderr', chunk: Uint8Array): Promise<void> => {
    if (stream === 'stderr') message = (message + Buffer.from(chunk).toString()).slice(-MESSAGE_LENGTH_MAX);
    // It resolves when the piece is taken. It rejects when no more is wanted, which ends the engine.
    else
      await writer.write(chunk).catch((error: unknown) => {
        isCut = true;
        throw error;
      });
  };
  // Both are waited for: no other call may begin before the engine's process is gone.
  const [found, exported] = await Promise.allSettled([
    catalogue(readable, { signal: context.control.term }),
    exportContainer(context, container, onOutput).finally(async () => {
      await writer.close().catch(() => undefined); // Its reader may be gone already.
    }),
  ]);
  context.control.check();
  if (found.status === 'rejected') throw found.reason;
  // A bound was reached, and the catalogue says so.
  if (isCut) return found.value;
  if (exported.status === 'rejected') throw exported.reason;
  const { code, failure } = exported.value;
  if (code !== 0)
    throw new Error(`the image cannot be read: ${failure ?? (message.trim() || `exit code ${code}`)}`);
  return found.value;
}

async function exportContainer(
  context: BuildContext,
  container: string,
  onOutput: NonNullable<ProcessOptions['onOutput']>,
): Promise<ProcessResult> {
  const { engine } = context.engine;
  const exporting = engineArgv(engine, 'export', '--', container);
  const command = ['sh', '-c', THROUGH_PIPE, 'svc-export', ...exporting];
  if (context.contained === undefined)
    return await call(context, { argv: command, env: engineEnv(context), onOutput });
  const { host, store, baseImages } = context.contained;
  const bases = await baseImages.store();
  return await containedCall(
    host,
    {
      engine,
      args: { command },
      store,
      ...(bases === undefined ? {} : { bases }),
      name: context.workspace.name,
      limits: context.plan.limits,
      onOutput,
    },
    context.control,
  );
}

async function removeContainer(context: BuildContext, container: string): Promise<void> {
  const control = createControl(REMOVE_MS);
  try {
    const removed = await callEngine({ ...context, control }, 'rm', '--force', '--volumes', '--', container);
    if (removed.code !== 0 && !/no such container|no container with/i.test(removed.tail))
      throw new Error(lastLines(removed));
  } catch (error) {
    const line = `the container ${container} is left: ${errorText(error)}`;
    await context.writeLine(line).catch(() => undefined); // The output cannot be stored, which ends the build by itself.
  } finally {
    control.end();
  }
}
