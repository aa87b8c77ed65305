/**
 * This file runs the gateway as a process of its own: door, gRPC to the servers, RabbitMQ, pages for
 * operators. They are started in the order of need and stopped in reverse: first the polls, so that every
 * runner gets its answer, then the door, then what both used.
 */
import { createDoor } from '@svc/proto/http/door.ts';
import { forOperators } from '@svc/proto/http/operators.ts';
import type { Pages } from '@svc/proto/http/pages.ts';
import { boundUrls, orWrongSetting } from '@svc/proto/process/bound.ts';
import { connectRabbit } from '@svc/proto/queue/rabbit.ts';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { systemClock } from '@svc/proto/process/clock.ts';
import type { Config } from './config.ts';
import { connectDispatch, type DispatchClient } from './dispatch-client.ts';
import { followFeatures } from './features.ts';
import { startGateway, type Gateway } from './index.ts';
import { VERIFICATION_LIMITS } from './verification.ts';

/**
 * A start waits so long to hear what is switched off, so that it does not show for a moment what it must
 * hide.
 */
const FIRST_WORD_MS = 3_000;

export async function startProcess(config: Config, log: Logger) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const dispatch = connectDispatch({
    urls: config.dispatchUrls,
    token: config.internalToken,
    clock: systemClock,
    log,
  });
  const queue = connectRabbit({ url: config.amqpUrl, role: 'gateway', log });
  const features = followFeatures({
    dispatch: dispatch.client,
    enabled: config.runnersEnabled,
    clock: systemClock,
    log,
  });
  let gateway: Gateway | undefined;
  try {
    // With port 0 the names are known only once the door is open.
    let { port } = config;
    const publicUrls = (): readonly string[] => config.publicUrls ?? boundUrls(config.host, port);
    gateway = startGateway({
      dispatch: dispatch.client,
      queue,
      publicUrls,
      log,
      registry,
      gate: features.gate,
      onGateChange: features.onChange,
      ...options(config),
    });
    const { app } = gateway;
    let stopping = false;
    const pages = createPages({
      registry,
      dispatch,
      metricsToken: config.metricsToken,
      isStopping: () => stopping,
    });
    // The rule is that of a server's door: behind one proxy the two must not be told apart by a header.
    const hsts =
      config.publicUrls !== undefined &&
      config.publicUrls.length > 0 &&
      config.publicUrls.every((url) => url.startsWith('https:'));
    const door = createDoor({ apps: [app], log, pages, trustedProxies: config.trustedProxies, hsts });
    await features.first(FIRST_WORD_MS);
    const opened = await orWrongSetting(door.listen({ port: config.port, host: config.host }), {
      ...config,
      names: ['HOST', 'PORT'],
    });
    port = opened.port;
    const running = gateway;
    const stop = async (): Promise<void> => {
      stopping = true;
      await running.stop(config.stopGraceMs);
      await opened.close(config.stopGraceMs);
      features.stop();
      await queue.close();
      dispatch.close();
    };
    return { port, stop };
  } catch (error) {
    await gateway?.stop(0);
    features.stop();
    await queue.close();
    dispatch.close();
    throw error;
  }
}

export type GatewayProcess = Awaited<ReturnType<typeof startProcess>>;

function options({ trustedProxies, signatureFailuresBurst, callsPerSecond }: Config) {
  return {
    trustedProxies,
    limits: {
      failures: { ...VERIFICATION_LIMITS.failures, burst: signatureFailuresBurst },
      calls: { count: 5 * callsPerSecond, windowMs: 5_000 },
    },
  };
}

interface PagesDeps {
  readonly registry: Registry;
  readonly dispatch: DispatchClient;
  readonly metricsToken: string | undefined;
  readonly isStopping: () => boolean;
}

/**
 * The gateway is live while the event loop turns, and ready while a server is in reach. The broker is not
 * asked for: without it polls are slower, not dead.
 */
function createPages({ registry, dispatch, metricsToken, isStopping }: PagesDeps): Pages {
  const text = { 'content-type': 'text/plain; charset=utf-8' };
  return {
    '/healthz': () => ({ headers: text, body: 'ok\n' }),
    '/readyz': () => {
      if (isStopping()) return { status: 503, headers: text, body: 'stopping\n' };
      return dispatch.ready()
        ? { headers: text, body: 'ready\n' }
        : { status: 503, headers: text, body: 'no server in reach\n' };
    },
    '/metrics': forOperators(
      async () => ({ headers: { 'content-type': registry.contentType }, body: await registry.metrics() }),
      metricsToken,
    ),
  };
}
