/** One HTTP operation as plain data, printed by the generator into SDK methods and the CLI command table. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path with JSON field names as variables: `/teams/{teamId}/runners/{runnerId}`. */
  readonly path: string;
  /**
   * `'*'`: every field that is not in the path; a name: that field alone; absent: the rest goes into the
   * query.
   */
  readonly body?: string;
  /** Set for lists: the response field that holds the items; `limit` and `cursor` are the paging fields. */
  readonly items?: string;
  /** The list goes by numbers of pages: `page` is the paging field, and the answer is returned whole. */
  readonly isNumbered?: true;
  /** Most items of one page that a list may ask for. Default: 200. */
  readonly pageMax?: number;
  /** Every field of the request, where callers name them in an object: any other name is refused. */
  readonly fields?: readonly string[];
  /** Set for server streams (SSE): the request field that Last-Event-ID resumes. */
  readonly stream?: { readonly resume?: string };
  /**
   * The server may take this long: the time limit of an attempt unless the caller sets one, which the server
   * is told.
   */
  readonly timeoutMs?: number;
  /** The answer is bytes, not JSON. */
  readonly raw?: true;
  /** The method returns this field of the response instead of the whole; null where it is absent. */
  readonly returns?: string;
}
