/** `GET /platform-features/resolved`: from memory, in one of two shapes, with 304 for whoever has it already. */
import type { ResolvedResponse } from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { Ctx } from '../../platform/context.ts';
import { STAFF_SCOPE } from '../../platform/scopes.ts';
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
    const known = call.header('if-none-match');
    if (known !== undefined && holdsTag(known, etag)) call.status = 304;
  }
  return message;
}

/** Weak comparison, as RFC 9110 has it for reading: proxies that compress make the tag weak. Our tags hold no comma. */
export function holdsTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === etag || ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((part) => part.trim().replace(/^W\//, '') === etag);
}
