/**
 * Pushes the image and returns the digest that the registry confirmed, and the type of the manifest behind
 * it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuiltImage } from './built-image.ts';
import { fileBind, folderBind } from './containment-script.ts';
import { engineCall, giveToContainment, refuseUnreachable, type BuildContext } from './context.ts';
import { BuildFailed, MachineFailed, withRetries } from './failure.ts';
import { requireGuarded } from './guarded-registry.ts';
import type { ImagePlan } from './plan.ts';
import { lastLines, type ProcessResult } from './process.ts';
import { registryAccess } from './registry-auth.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Refusals of a registry that are final; every other failure is repeated. */
export const REFUSED =
  /unauthorized|authentication required|access to the resource is denied|denied:|forbidden|\b40[0134]\b|invalid (?:reference|tag)|name unknown|manifest invalid|server gave HTTP response to HTTPS client|certificate signed by unknown authority|x509/i;

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3})(?::\d+)?$/;
/** A manifest of a type that a registry does not take. */
const MANIFEST_REFUSED = /manifest invalid|unsupported/i;
/** podman's names of the types that it writes. */
const FORMATS: Readonly<Record<string, string>> = {
  'application/vnd.oci.image.manifest.v1+json': 'oci',
  'application/vnd.docker.distribution.manifest.v2+json': 'v2s2',
};

export interface PushOptions {
  /** A name of the build's engine, see localTag. */
  tag: string;
  image: ImagePlan;
  built: BuiltImage;
}

export interface Pushed {
  digest: string;
  /** Absent where it is not certain. */
  mediaType?: string;
}

export async function pushImage(context: BuildContext, { tag, image, built }: PushOptions): Promise<Pushed> {
  const { engine } = context.engine;
  const destination = `${image.name}:${image.tag}`;
  await requireGuarded(image);
  const access = await registryAccess(context, image);
  await giveToContainment(context, [context.workspace.secrets, context.workspace.temporary]);
  const digestFile = join(context.workspace.temporary, 'digest');
  if (engine.name === 'docker') {
    const tagged = await engineCall(context, { args: ['tag', tag, destination], binds: [], network: 'none' });
    if (tagged.code !== 0) throw new MachineFailed(`docker cannot tag the image: ${lastLines(tagged)}`);
  }
  // podman falls back to another type by itself, and does not say so; of a type that is asked for by name it
  // sends that one or fails.
  let format = engine.name === 'podman' ? FORMATS[built.manifestType ?? ''] : undefined;
  const result = await withRetries(async () => {
    const ofType = format === undefined ? [] : [`--format=${format}`];
    const pushed = await engineCall(context, {
      args:
        engine.name === 'podman'
          ? ['push', ...access.flags, ...ofType, `--digestfile=${digestFile}`, tag, destination]
          : ['push', destination],
      binds: [fileBind(access.file), folderBind(context.workspace.temporary, true)],
      network: 'registry',
      env: access.env,
      onOutput: context.output,
    });
    if (pushed.code === 0) return pushed;
    const failure = `the image cannot be pushed to ${destination}`;
    refuseUnreachable(context, pushed, failure);
    const message = `${failure}: ${lastLines(pushed, 3)}`;
    const isTypeRefused = format !== undefined && MANIFEST_REFUSED.test(pushed.tail);
    if (isTypeRefused) format = undefined;
    throw REFUSED.test(pushed.tail) && !isTypeRefused
      ? new BuildFailed(message + hint(pushed, image), pushed.code ?? 125)
      : new MachineFailed(message);
  }, context);
  const digest =
    engine.name === 'podman'
      ? (await readFile(digestFile, 'utf8')).trim()
      : (/digest: (sha256:[0-9a-f]{64}) /.exec(result.tail)?.[1] ?? '');
  if (!DIGEST.test(digest)) throw new MachineFailed(`the registry confirmed no digest for ${destination}`);
  const mediaType = format === undefined ? typeOfDescriptor(built, digest) : built.manifestType;
  return { digest, ...(mediaType !== undefined && { mediaType }) };
}

const typeOfDescriptor = ({ descriptor }: BuiltImage, digest: string): string | undefined =>
  descriptor?.digest === digest ? descriptor.mediaType : undefined;

function hint(result: ProcessResult, image: ImagePlan): string {
  if (/unauthorized|authentication required|denied|forbidden|\b40[13]\b/i.test(result.tail))
    return image.password === undefined
      ? `; the build has no credentials for ${image.host}: register the registry with a password`
      : `; the registry refused the credentials: check user name, password and the right to push`;
  return plainHttpHint(result, image.host);
}

/** Says what a registry lacks that was added as one with a certificate. */
export function plainHttpHint({ tail }: Pick<ProcessResult, 'tail'>, host: string): string {
  if (!/HTTP response to HTTPS client/i.test(tail)) return '';
  const again = 'remove the registry and add it again with --insecure';
  return LOOPBACK.test(host)
    ? `; ${host} speaks plain HTTP: ${again}`
    : `; ${host} speaks plain HTTP: give it a certificate, or have the installation list it in INSECURE_REGISTRIES, then ${again}`;
}
