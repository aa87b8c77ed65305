/**
 * Writes the credentials of one registry to a file of this build alone. The file is empty where the offer has
 * none: builds never use the operator's own logins.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from './context.ts';
import type { ImagePlan } from './plan.ts';
import { writeSecret } from './workspace.ts';

/** Flags and variables for a call of the engine that contacts a registry. */
export interface RegistryAccess {
  flags: string[];
  /** The file that the flags name. */
  file: string;
  env: Record<string, string>;
}

export async function registryAccess(
  context: BuildContext,
  image: ImagePlan | undefined,
): Promise<RegistryAccess> {
  const { engine } = context.engine;
  // docker's daemon decides by its configuration which registries may be without TLS.
  const insecure = image?.insecure === true && engine.name === 'podman' ? ['--tls-verify=false'] : [];
  await mkdir(join(context.workspace.secrets, 'registry'), { recursive: true, mode: 0o700 });
  const file = await writeSecret(context.workspace, {
    name: 'registry/config.json',
    text: JSON.stringify({ auths: authsOf(engine.name, image) }),
  });
  return engine.name === 'podman'
    ? { flags: [`--authfile=${file}`, ...insecure], file, env: {} }
    : { flags: [], file, env: { DOCKER_CONFIG: join(context.workspace.secrets, 'registry') } };
}

function authsOf(engine: string, image: ImagePlan | undefined): Record<string, { auth: string }> {
  if (image?.password === undefined) return {};
  const auth = Buffer.from(`${image.username ?? ''}:${image.password}`).toString('base64');
  return { [nameInConfig(engine, image.host)]: { auth } };
}

/** docker looks Docker Hub up by an old address; podman, and docker for every other registry, by the host. */
function nameInConfig(engine: string, host: string): string {
  return engine === 'docker' && host === 'docker.io' ? 'https://index.docker.io/v1/' : host;
}
