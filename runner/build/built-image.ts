/**
 * This file reads what the engine says of an image that it has built: its platform, the type of its manifest,
 * and the image that it was built on. Only what is certain is said, and a build does not fail for want of it.
 */
import { parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import { errorText } from '../platform/errors.ts';
import type { WireBaseImage } from '../control-plane/wire.ts';
import { engineCall, type BuildContext } from './context.ts';
import { lastLines } from './process.ts';

/** Operating system, architecture and, where the engine tells it, the variant. */
const PLATFORM = /^[a-z0-9]{1,32}\/[a-z0-9_]{1,32}(?:\/[a-z0-9.]{1,32})?$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const BASE = 'org.opencontainers.image.base';

export interface BuiltImage {
  readonly platform?: string;
  /** podman: of the manifest that it holds. A push keeps it unless the registry refuses it. */
  readonly manifestType?: string;
  /** docker: the manifest that it pushes. An engine without this pushes one that it makes at the push. */
  readonly descriptor?: { readonly mediaType?: string; readonly digest?: string };
  readonly base?: WireBaseImage;
}

/**
 * @param tag A name of the build's engine, see localTag.
 * @param isOnImage The last stage begins with an image and not with another stage.
 */
export async function inspectBuilt(
  context: BuildContext,
  tag: string,
  isOnImage = false,
): Promise<BuiltImage> {
  try {
    return context.engine.engine.name === 'podman'
      ? await inspectWithPodman(context, tag, isOnImage)
      : await inspectWithDocker(context, tag);
  } catch (error) {
    context.control.check();
    await context.writeLine(`the engine does not say what the image is: ${errorText(error)}`);
    return {};
  }
}

async function inspectWithPodman(
  context: BuildContext,
  tag: string,
  isOnImage: boolean,
): Promise<BuiltImage> {
  const annotations = ['name', 'digest'].map((part) => `{{index .Annotations "${BASE}.${part}"}}`).join(' ');
  const said = await inspect(context, tag, `{{.Os}}/{{.Architecture}} {{.ManifestType}} ${annotations}`);
  const [platform = '', manifestType = '', name = '', digest = ''] = said.split(' ');
  const base = await baseOf(context, { name, digest }, isOnImage ? tag : undefined);
  return {
    ...(PLATFORM.test(platform) && { platform }),
    ...(manifestType !== '' && { manifestType }),
    ...(base !== undefined && { base }),
  };
}

async function inspectWithDocker(context: BuildContext, tag: string): Promise<BuiltImage> {
  const said = await inspect(context, tag, '{{.Os}}/{{.Architecture}}/{{.Variant}} {{json .Descriptor}}');
  const place = said.indexOf(' ');
  const platform = said.slice(0, place).replace(/\/$/, '');
  const told = said.slice(place + 1);
  const descriptor = told.startsWith('{') ? (JSON.parse(told) as BuiltImage['descriptor']) : undefined;
  return {
    ...(PLATFORM.test(platform) && { platform }),
    ...(descriptor !== undefined && { descriptor }),
  };
}

/**
 * podman notes the name and the digest of the image that the last stage begins with. Where that is an earlier
 * stage, the digest is that stage's and the name its base's, so both must be of one image. Only a store of
 * the team alone tells that the image was pulled under this name: the operator's images may have been loaded
 * or built under it, and their digests are then those of no registry. In a build that keeps layers the digest
 * is that of the step before the last: there the layers tell.
 *
 * @param onImage The built image, where its last stage begins with an image.
 */
async function baseOf(
  context: BuildContext,
  { name, digest: noted }: WireBaseImage,
  onImage: string | undefined,
): Promise<WireBaseImage | undefined> {
  const { contained } = context;
  if (contained === undefined || !DIGEST.test(noted) || problemOfImage(name) !== undefined) return undefined;
  const { host } = parseImage(name);
  if (host === undefined || host === 'localhost') return undefined;
  const said = await inspect(context, name, '{{.Id}} {{.Digest}}{{range .RepoDigests}} {{.}}{{end}}');
  const [id = '', own = '', ...pulled] = said.split(' ');
  const isItsOwn = [`@${own}`, ...pulled].some((each) => each.endsWith(`@${noted}`));
  const digest = isItsOwn ? noted : own;
  const isPulled = pulled.some((each) => each.endsWith(`@${own}`));
  if (!isItsOwn && !(onImage !== undefined && isPulled && (await isBuiltOn(context, onImage, name))))
    return undefined;
  return (await contained.baseImages.holds(id)) ? undefined : { name: name.replace(/@.*$/, ''), digest };
}

async function isBuiltOn(context: BuildContext, tag: string, base: string): Promise<boolean> {
  const layersOf = async (image: string) =>
    await inspect(context, image, '{{range .RootFS.Layers}}{{.}} {{end}}');
  const below = await layersOf(base);
  return below !== '' && (await layersOf(tag)).startsWith(below);
}

async function inspect(context: BuildContext, image: string, format: string): Promise<string> {
  const args = ['image', 'inspect', `--format=${format}`, image];
  const inspected = await engineCall(context, { args, binds: [], network: 'none' });
  if (inspected.code !== 0) throw new Error(lastLines(inspected));
  return inspected.stdout.trim();
}

/** The pinned builder of a buildpack build, where it is pinned by its digest. */
export function builderBase(image: string): WireBaseImage[] {
  const { digest } = parseImage(image);
  return digest === undefined ? [] : [{ name: image.replace(/@.*$/, ''), digest }];
}
