/**
 * Serves pages to those who run the process. Figures name every part of the service and every platform
 * feature, internal ones too, so they are not for everybody who reaches the port: to others such a page is a
 * path that nobody serves.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { apiError } from './errors.ts';
import type { Endpoint, EndpointRequest, Page } from './pages.ts';
import { UNKNOWN_ROUTE } from './unknown-route.ts';

/**
 * Serves the page to whoever sends `token` as a bearer credential, and to nobody where it is undefined. Where
 * a caller comes from says nothing: what runs on this machine, a build among it, may be anybody's.
 */
export function forOperators(page: Page, token: string | undefined): Endpoint {
  const isOperator = token === undefined ? () => false : bearerCheck(token);
  return {
    verbs: ['GET'],
    serve: (request) => {
      if (!isOperator(request)) throw apiError('not_found', UNKNOWN_ROUTE);
      return page(request);
    },
  };
}

/** It compares in constant time, whatever the lengths. */
function bearerCheck(token: string): (request: EndpointRequest) => boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const wanted = digest(`Bearer ${token}`);
  return ({ header }) => timingSafeEqual(digest(header('authorization') ?? ''), wanted);
}
