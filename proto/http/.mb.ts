import { create, type DescField, type DescMessage, type Message } from '@bufbuild/protobuf';
import { SandboxRunSchema } from '../gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { encoder } from './json.ts';
import { enumNames } from './enum-names.ts';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
const run = create(SandboxRunSchema, { id: 'run_01jd5k0000000000000000000a', teamId: 'team_01jd5k0000000000000000000a', purpose: 1, state: 4, reason: 1, exitCode: 0, command: ['echo', 'hello world'], envNames: ['A', 'B'], network: 1, isolation: 1, limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16777216 }, labels: { a: 'b' }, attempt: 1, runnerId: 'rnr_1', runnerName: 'box', createdAt: timestampFromMs(1795172400123), claimedAt: timestampFromMs(1795172400123), startedAt: timestampFromMs(1795172400123), finishedAt: timestampFromMs(1795172400123), meteredMs: 5, logBytes: 12 });
const bench = (name: string, f: () => unknown, n = 100000) => { for (let r = 0; r < 3; r++) { const t = performance.now(); const c = process.cpuUsage(); for (let i = 0; i < n; i++) f(); const d = process.cpuUsage(c); if (r === 2) console.log(name, ((performance.now() - t) / n * 1000).toFixed(2), 'us wall', ((d.user + d.system) / n).toFixed(2), 'us cpu'); } };
const enc = encoder(SandboxRunSchema);
let sink = 0;
bench('rope', () => enc(run));
bench('rope+byteLength', () => { sink += Buffer.byteLength(enc(run)); });
bench('rope+Buffer.from', () => { sink += Buffer.from(enc(run)).length; });
// tree
type V = (v: any) => unknown;
const tv = (d: DescMessage): V => { const fs = d.fields.map((f: DescField) => { const one: V = f.message ? (f.message.typeName === 'google.protobuf.Timestamp' ? (v) => new Date(Number(v.seconds) * 1000 + v.nanos / 1e6).toISOString() : tv(f.message)) : f.enum ? ((n) => (v: any) => n.get(v))(enumNames(f.enum).byNumber) : (v) => v; const w: V = f.fieldKind === 'list' && (f.message || f.enum) ? (v) => v.map(one) : f.fieldKind === 'map' && (f.message || f.enum) ? (v) => v : f.fieldKind === 'list' || f.fieldKind === 'map' ? (v) => v : one; return { n: f.localName, j: f.jsonName, w }; }); return (m) => { const o: Record<string, unknown> = {}; for (const { n, j, w } of fs) { const v = m[n]; if (v !== undefined) o[j] = w(v); } return o; }; };
const t = tv(SandboxRunSchema);
bench('tree+stringify', () => JSON.stringify(t(run)));
bench('tree+stringify+byteLength', () => { sink += Buffer.byteLength(JSON.stringify(t(run))); });
console.log(sink);
