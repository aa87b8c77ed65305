/**
 * Checks the registry that builds push to: whether it is reachable, and whether this user may push there. An
 * upload that is begun and discarded proves the right to push and leaves nothing. With `--push-test` a tiny
 * image is really pushed, under the name `svc-runner-doctor`.
 */
import { createHttpClient, type HttpClient } from '../../control-plane/http-client.ts';
import { lastRegistry } from '../../disk/last-registry.ts';
import { credentialsFor } from '../registry/credentials.ts';
import { createRegistryClient, parseTarget, RegistryError, type RegistryTarget } from '../registry/client.ts';
import { pushTinyImage } from '../registry/push-test.ts';
import { type CheckContext, type CheckGroup, type Finding, fail, ok, skip } from '../check.ts';

export const registry: CheckGroup = async (context, check) => {
  const { settings, env, paths } = context;
  const named = context.registry ?? (await lastRegistry(paths.dataDir));
  if (named === undefined) {
    await check('registry', () =>
      skip(
        'none named, and no build was pushed from here yet',
        'to look at the one that builds push to: svc-runner doctor --registry <host>[/<namespace>]',
      ),
    );
    return;
  }
  const http = createHttpClient({ env, ...(settings.ca === undefined ? {} : { ca: settings.ca }) });
  try {
    await check('registry', async () => await look(context, named, http));
  } finally {
    http.close();
  }
};

async function look(context: CheckContext, named: string, http: HttpClient): Promise<Finding> {
  let target: RegistryTarget;
  try {
    target = parseTarget(named);
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return fail(error.message, 'give --registry <host>[/<namespace>]');
  }
  const credentials = await credentialsFor(target.host, context.env);
  const who =
    credentials === undefined ? 'without credentials' : `as ${credentials.username} (${credentials.source})`;
  const client = createRegistryClient({ target, http, credentials });
  try {
    await client.begin();
    if (!context.pushTest) return ok(`${client.origin} takes pushes to ${client.repository} ${who}`);
    const digest = await pushTinyImage(client);
    return ok(
      `pushed ${target.host}/${client.repository}:svc-runner-doctor ${who}, ${digest}; it may be removed`,
    );
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    // Builds may get credentials from the team's entry, so a user without any is no failure.
    const mayHaveOthers =
      error.kind === 'refused' && credentials === undefined && context.registry === undefined;
    return {
      status: mayHaveOthers ? 'warn' : 'fail',
      detail: `${error.message}, ${who}`,
      advice: adviceFor(error, target, credentials === undefined),
    };
  }
}

function adviceFor(error: RegistryError, { host }: RegistryTarget, anonymous: boolean): string {
  if (error.kind === 'unreachable')
    return `is ${host} right, and may this machine connect to it? A private authority goes into --ca-file`;
  if (error.kind === 'refused' && anonymous)
    return `builds use the password that the team registered (svc registries) and no login of this machine; for this check alone: podman login ${host}`;
  if (error.kind === 'refused')
    return 'check user name, password and the right to push in the registry; builds use those of svc registries, this check those of podman login';
  return 'that does not look like a container registry; is the host right?';
}
