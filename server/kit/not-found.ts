/**
 * The one answer for a row that does not exist and for one that the caller may not see. It names the kind and
 * never the id, so that both answers are the same bytes.
 */
import { apiError } from '@svc/proto/http/errors.ts';

export function notFound(kind: string): Error {
  return apiError('not_found', `no such ${kind}, or it is not visible to you`, {
    details: { resource: kind },
  });
}
