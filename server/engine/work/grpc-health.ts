/** The port serves grpc.health.v1.Health, open to anybody. */
import type { Server, ServerWritableStream, ServiceDefinition } from '@grpc/grpc-js';
import { HealthImplementation } from 'grpc-health-check';

export interface Health {
  /**
   * Says NOT_SERVING from now on, and ends the streams of those who watch: they would keep the port from
   * closing.
   */
  stop(): void;
}

/** `services` besides '', which stands for the whole server. */
export function serveHealth(server: Server, services: readonly string[]): Health {
  const names = ['', ...services];
  const health = new HealthImplementation(Object.fromEntries(names.map((name) => [name, 'SERVING'])));
  const watchers = new Set<ServerWritableStream<unknown, unknown>>();
  health.addToServer({
    addService: (definition, { watch, ...rest }) =>
      server.addService(definition as ServiceDefinition, {
        ...rest,
        watch: (call: ServerWritableStream<unknown, unknown>) => {
          watchers.add(call);
          call.on('cancelled', () => watchers.delete(call));
          watch?.(call as never, () => undefined);
        },
      }),
  });
  return {
    stop: () => {
      for (const name of names) health.setStatus(name, 'NOT_SERVING');
      for (const watcher of watchers) watcher.end();
    },
  };
}
