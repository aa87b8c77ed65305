/**
 * The `Operation` value (sdk/core/operation.ts) of an RPC as TypeScript text, the same for the SDK and the
 * CLI.
 */
import { TIMEOUT_MS_DEFAULT } from '../http/rpc.ts';
import type { RpcModel } from './model.ts';
import { literal } from './text.ts';

/** The size of a page that the SDK takes where the operation says no other (sdk/core/client.ts). */
const PAGE_MAX_USUAL = 200;

export interface OperationForm {
  /** With what makes a list or a single field of the response, which is else taken whole. */
  readonly shaped: boolean;
  /** With the fields that callers may name in an object. */
  readonly fields?: readonly string[];
}

export function printOperation(rpc: RpcModel, { shaped, fields }: OperationForm): string {
  const [primary] = rpc.routes;
  if (!primary) throw new Error(`${rpc.id} has no route`);
  const { route, jsonPath, bodyField } = primary;
  const body = route.body === '*' ? '*' : bodyField?.json;
  const resume = rpc.stream?.resumeField?.json;
  return literal({
    method: route.verb,
    path: jsonPath,
    ...(body !== undefined && { body }),
    ...(shaped && rpc.page && { items: rpc.page.items.json }),
    ...(shaped && rpc.page && rpc.page.maxLimit !== PAGE_MAX_USUAL && { pageMax: rpc.page.maxLimit }),
    ...(shaped && rpc.numbered && { items: rpc.numbered.json, isNumbered: true }),
    ...(rpc.raw && { raw: true }),
    ...(rpc.serverStreaming && !rpc.raw && { stream: resume === undefined ? {} : { resume } }),
    ...(!rpc.serverStreaming && rpc.timeoutMs > TIMEOUT_MS_DEFAULT && { timeoutMs: rpc.timeoutMs }),
    ...(shaped && rpc.sdk?.returns && { returns: rpc.sdk.returns.json }),
    ...(fields && { fields }),
  });
}
