import { create } from '@bufbuild/protobuf';
import { rpcs } from '../gen/rpcs.ts';
import { createDoor } from './door.ts';
import { SandboxRunSchema } from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
const run = create(SandboxRunSchema, { id: 'run_01jd5k0000000000000000000a', teamId: 'team_01jd5k0000000000000000000a', purpose: 1, state: 4, reason: 1, exitCode: 0, command: ['echo', 'hello world'], envNames: ['A', 'B'], network: 1, isolation: 1, limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16777216 }, labels: { a: 'b' }, attempt: 1, runnerId: 'rnr_1', runnerName: 'box', createdAt: timestampFromMs(1795172400123), claimedAt: timestampFromMs(1795172400123), startedAt: timestampFromMs(1795172400123), finishedAt: timestampFromMs(1795172400123), meteredMs: 5, logBytes: 12 });
const door = createDoor({ apps: [{ rpcs: rpcs.filter((r) => r.audience !== 'internal'), gate: () => 'open', admit: (call) => call.header('authorization'), invoke: async () => run, stream: async function* () {} }], log: console });
let resolve: () => void;
class Res { headersSent = false; writableEnded = false; destroyed = false; writeHead() {} write() { return true; } end(b: string) { Buffer.from(b ?? ''); this.headersSent = true; resolve(); } once() { return this; } off() { return this; } on() { return this; } setHeader() {} addTrailers() {} }
const raw = ['host', 'a', 'authorization', 'Bearer abc', 'accept', '*/*', 'user-agent', 'x'];
const one = () => { const req = { url: '/sandbox-runs/run_1', method: 'GET', httpVersion: '1.1', httpVersionMajor: 1, headers: { host: 'a', authorization: 'Bearer abc', accept: '*/*', 'user-agent': 'x' }, rawHeaders: raw, socket: { remoteAddress: '127.0.0.1' } }; return new Promise<void>((r) => { resolve = r; door.handler(req as never, new Res() as never); }); };
let best = 1e9;
for (let b = 0; b < 60; b++) { const c = process.cpuUsage(); for (let i = 0; i < 2000; i++) await one(); const d = process.cpuUsage(c); best = Math.min(best, (d.user + d.system) / 2000); }
{ const h = process.memoryUsage().heapUsed; for (let i = 0; i < 2000; i++) await one(); console.log('bytes/req', Math.round((process.memoryUsage().heapUsed - h) / 2000)); }
console.log('handler min us cpu', best.toFixed(2)); process.exit();
