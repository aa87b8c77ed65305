/** The platform as it is measured: in one process, or with a gateway of its own. */
import { createServer, type AddressInfo } from 'node:net';
import { AMQP_URL } from '../setup/needs.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { startProgram, type Program } from '../e2e/processes.ts';

/**
 * Server and gateway in one process, which is the default, or a gateway of its own that reaches its server by
 * gRPC and RabbitMQ.
 */
export type Layout = 'one process' | 'gateway of its own';

export interface Running {
  readonly platform: Platform;
  /** Process that holds the polls. */
  readonly gateway: Program;
  /** Port of the endpoints for runners. */
  readonly port: number;
  stop(): Promise<void>;
}

export const METRICS_TOKEN = 'bench-metrics-token';
const SETTINGS = {
  METRICS_TOKEN,
  LIMIT_REQUESTS_PER_MINUTE: '10000000',
  LIMIT_SUBMITS_PER_MINUTE: '10000000',
  LIMIT_QUEUED_RUNS_PER_TEAM: '1000000',
};

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export async function startLayout(
  layout: Layout,
  databaseUrl: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Running> {
  const own = { ...SETTINGS, DATABASE_URL: databaseUrl, ...settings };
  if (layout === 'one process') {
    const platform = await startPlatform(own);
    const port = Number(new URL(platform.url).port);
    return { platform, gateway: platform.server, port, stop: async () => await platform.stop() };
  }
  const [port, internalPort] = [await freePort(), await freePort()];
  const shared = {
    AMQP_URL,
    INTERNAL_TOKEN: 'bench-internal-token-0123456789',
    PUBLIC_URLS: `http://127.0.0.1:${port}`,
  };
  const platform = await startPlatform({
    ...own,
    ...shared,
    SVC_MODE: 'split',
    INTERNAL_PORT: String(internalPort),
  });
  const gateway = startProgram('gateway/dist/main.js', [], {
    ...shared,
    METRICS_TOKEN,
    PORT: String(port),
    HOST: '127.0.0.1',
    DISPATCH_URLS: `grpc://127.0.0.1:${internalPort}`,
  });
  const stop = async (): Promise<void> => {
    await gateway.stop('SIGKILL');
    await platform.stop();
  };
  await gateway.says(/listening on/).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { platform, gateway, port, stop };
}
