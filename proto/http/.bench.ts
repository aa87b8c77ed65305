process.on('SIGTERM', () => process.exit(0));
import { create } from '@bufbuild/protobuf';
import { createServer } from 'node:http';
import { rpcs } from '/work/main/proto/gen/rpcs.ts';
import { createDoor } from '/work/main/proto/http/door.ts';
import { SandboxRunSchema } from '/work/main/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import Fastify from 'fastify';
const run = create(SandboxRunSchema, { id: 'run_01jd5k0000000000000000000a', teamId: 'team_01jd5k0000000000000000000a', purpose: 1, state: 4, reason: 1, exitCode: 0, command: ['echo', 'hello world'], envNames: ['A', 'B'], network: 1, isolation: 1, limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16777216 }, labels: { a: 'b' }, attempt: 1, runnerId: 'rnr_1', runnerName: 'box', createdAt: timestampFromMs(1795172400123), claimedAt: timestampFromMs(1795172400123), startedAt: timestampFromMs(1795172400123), finishedAt: timestampFromMs(1795172400123), meteredMs: 5, logBytes: 12 });
const which = process.argv[2];
if (which === 'door') {
  const door = createDoor({ apps: [{ rpcs: rpcs.filter((r) => r.audience !== 'internal'), gate: () => 'open', admit: (call) => call.header('authorization'), invoke: async () => run, stream: async function* () {} }], log: console });
  const o = await door.listen({ port: 0, host: '127.0.0.1' }); console.log(o.port);
} else if (which === 'fastify') {
  const f = Fastify(); const plain = JSON.parse(JSON.stringify({ ...run, createdAt: 'x', claimedAt: 'x', startedAt: 'x', finishedAt: 'x', $typeName: undefined }));
  f.get('/sandbox-runs/:id', async () => plain);
  await f.listen({ port: 0, host: '127.0.0.1' }); console.log((f.server.address() as any).port);
} else if (which === 'listener') { const { listen } = await import('/work/main/proto/http/listener.ts'); const { LIMITS } = await import('/work/main/proto/http/limits.ts'); const l = await listen({ port: 0, host: '127.0.0.1', limits: LIMITS, onRequest: (q, r) => { r.setHeader('content-type', 'application/json'); r.end('{}'); } }); console.log(l.port);
} else { const s = createServer((q, r) => { r.setHeader('content-type', 'application/json'); r.end('{}'); }); s.listen(0, '127.0.0.1', () => console.log((s.address() as any).port)); }
