/**
 * Contracts that the product does not have (yet), compiled for a test: every rule of transcoding needs one
 * that uses it.
 */
import { createFileRegistry, fromBinary, type DescMethod, type Registry } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rpcs } from '../../gen/rpcs.ts';
import type { RestRoute, RpcInfo } from '../rpc.ts';

const BUF = join(import.meta.dirname, '../../../node_modules/.bin/buf');

/** Compiles proto sources by path, offline. */
export function compileProtos(files: Readonly<Record<string, string>>): Registry {
  const folder = mkdtempSync(join(tmpdir(), 'svc-protos-'));
  try {
    for (const [path, text] of Object.entries({ ...files, 'buf.yaml': 'version: v2\n' })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const image = execFileSync(BUF, ['build', folder, '--as-file-descriptor-set', '-o', '-'], {
      maxBuffer: 1 << 26,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** An RPC as the generator would describe it, with one route. */
export function rpcOf(desc: DescMethod, route: Partial<RestRoute>, more: Partial<RpcInfo> = {}): RpcInfo {
  const [model] = rpcs;
  if (model === undefined) throw new Error('no RPCs');
  const { audience, auth, bodyBytesMax, timeoutMs, rateLimit, teamInPath } = model;
  const full: RestRoute = { verb: 'POST', template: '/x', segments: [{ literal: 'x' }], body: '', ...route };
  return {
    id: `${desc.parent.typeName}/${desc.name}`,
    desc,
    audience,
    auth,
    bodyBytesMax,
    timeoutMs,
    rateLimit,
    teamInPath,
    successStatus: 200,
    routes: [full],
    ...more,
  };
}
