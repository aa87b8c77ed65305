/**
 * `GET /platform-features/resolved` is answered from memory, in one of two shapes, with 304 for whoever has
 * it already.
 */
import type { ResolvedResponse } from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { holdsTag } from '@svc/proto/http/etag.ts';
import type { Ctx } from '../kit/context.ts';
import { STAFF_SCOPE } from '../kit/scopes.ts';
import type { View } from './view.ts';

export function answerResolved(view: View, { call, caller }: Pick<Ctx, 'call' | 'caller'>): ResolvedResponse {
  const { message, etag } =
    caller.staff && caller.scopes.has(STAFF_SCOPE) ? view.forStaff : view.forEverybody;
  const { responseHeaders } = call;
  responseHeaders.set('cache-control', caller.kind === 'anonymous' ? 'no-cache' : 'private, no-cache');
  // Which shape it is depends on these, also for whoever sends neither.
  responseHeaders.set('vary', 'authorization, cookie');
  // The tag is of the JSON at the documented path; the other protocols have bodies of their own.
  if (call.protocol === 'rest') {
    responseHeaders.set('etag', etag);
    if (holdsTag(call.header('if-none-match'), etag)) call.status = 304;
  }
  return message;
}
