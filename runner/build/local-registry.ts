/**
 * Checks that the service's local registry is reached from this machine, before a build begins whose image
 * could not be published. It is often on the loopback of the server's machine, and a runner on another one
 * finds nothing there. Only that registry is asked: an address that a team chose would make of a machine of
 * the service's pool a scanner of ports.
 */
import { connect } from 'node:net';
import { proxyFor } from '@svc/proto/proxy/proxy.ts';
import { isLoopbackAddress } from '../network/egress-address.ts';
import { endpointOf, type Endpoint } from '../network/egress.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { errorCode, errorText } from '../platform/errors.ts';
import type { BuildContext } from './context.ts';
import { MachineFailed } from './failure.ts';
import type { BuildPlan, ImagePlan } from './plan.ts';

/** All tries together have this time: a server that has just started starts its registry a moment later. */
const ASK_MS = 3_000;
const AGAIN_MS = 250;
const HTTP_PORT = 80;
const HTTPS_PORT = 443;

type Asking = Pick<BuildContext, 'env'> & {
  readonly plan: Pick<BuildPlan, 'team'> & { readonly image?: ImagePlan };
  readonly control: Pick<BuildContext['control'], 'race' | 'term'>;
};

/** Throws MachineFailed, which names the ways out. */
export async function requireLocalRegistry({ plan, env, control }: Asking): Promise<void> {
  const { image, team } = plan;
  if (image === undefined || !image.local) return;
  const endpoint = endpointOf(image.host, image.insecure ? HTTP_PORT : HTTPS_PORT);
  if (endpoint === undefined || isProxied(endpoint, image, env)) return;
  const problem = await control.race(problemOf(endpoint, control.term));
  if (problem === undefined) return;
  throw new MachineFailed(
    `the service's local registry ${image.host} is not reached from this machine: ${problem}. Give the team a registry of its own: ` +
      `svc registries add --team ${team} --host <host>; or let the service's operator name one that this machine reaches: LOCAL_REGISTRY=<host:port>`,
  );
}

/** The proxy connects then. This machine's own loopback is reached by none. */
function isProxied({ host }: Endpoint, image: ImagePlan, env: NodeJS.ProcessEnv): boolean {
  if (host === 'localhost' || isLoopbackAddress(host)) return false;
  return proxyFor(new URL(`${image.insecure ? 'http' : 'https'}://${image.host}`), env) !== undefined;
}

async function problemOf(endpoint: Endpoint, signal: AbortSignal): Promise<string | undefined> {
  const begunMs = monotonicMs();
  for (;;) {
    const leftMs = ASK_MS - (monotonicMs() - begunMs);
    const problem = await ask(endpoint, Math.max(1, leftMs));
    if (problem === undefined || leftMs <= AGAIN_MS || signal.aborted) return problem;
    await pause(AGAIN_MS, signal);
  }
}

/** Returns why nothing can be reached there; undefined when something listens. */
async function ask({ host, port }: Endpoint, withinMs: number): Promise<string | undefined> {
  const socket = connect({ host, port });
  try {
    return await new Promise((resolve) => {
      socket.setTimeout(withinMs, () =>
        resolve(`it does not answer at ${host}:${port} within ${ASK_MS / 1_000} s`),
      );
      socket.once('connect', () => resolve(undefined));
      socket.once('error', (error) =>
        resolve(
          errorCode(error) === 'ECONNREFUSED' ? `nothing listens at ${host}:${port}` : errorText(error),
        ),
      );
    });
  } finally {
    socket.destroy();
  }
}
