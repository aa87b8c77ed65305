/** Answers at exact paths that are no RPCs: health, metrics, the OpenAPI document, the console. */
import { toApiError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import { reply } from './reply.ts';
import type { RequestTarget } from './target.ts';

export interface PageRequest {
  readonly path: string;
  readonly query: string;
  readonly requestId: string;
  header(name: string): string | undefined;
}

export interface PageResponse {
  readonly status?: number;
  /** Lower-case names; they override the door's own (cache-control, content-security-policy). */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A GET at an exact path: `/healthz`, `/metrics`, `/openapi.json`. */
export type Page = (request: PageRequest) => PageResponse | Promise<PageResponse>;

/** Never rejects. */
export async function servePage(
  exchange: Exchange,
  page: Page,
  { path, query }: RequestTarget,
  ledger: Ledger,
): Promise<void> {
  const { request, response, requestId, headers } = exchange;
  try {
    const header = (name: string): string | undefined => request.headers[name]?.toString();
    const { status = 200, headers: own, body } = await page({ path, query, requestId, header });
    reply(response, status, Object.assign(headers, own), body);
    ledger.record(exchange, { protocol: 'rest', status });
  } catch (error) {
    ledger.refuse(exchange, toApiError(error));
  }
}
