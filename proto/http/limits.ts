/** Every bound of the HTTP layer. Times in milliseconds; tests shorten them, nobody else needs to. */
export interface DoorLimits {
  /** Request line and headers together, HTTP/1.1 and HTTP/2 alike. */
  readonly headerBytesMax: number;
  /**
   * It runs from the connection, or from the previous answer's end, until the head is complete. It also
   * bounds the first three bytes.
   */
  readonly headersTimeoutMs: number;
  /**
   * It runs from the first byte of a request until its body is complete. Long polls and streams are not
   * concerned: their body is in.
   */
  readonly bodyTimeoutMs: number;
  /** Idle time between requests of one connection. */
  readonly keepAliveMs: number;
  /**
   * Silence in both directions within a request. Above the longest long poll (60 s) and far above a stream's
   * comments (15 s).
   */
  readonly socketIdleMs: number;
  /** Interval at which expired connections are looked for. */
  readonly sweepMs: number;
  readonly requestsPerSocketMax: number;
  /**
   * Connections of one network: an IPv4 address, or the /64 of an IPv6 one. Everybody behind one proxy counts
   * as one.
   */
  readonly connectionsPerAddressMax: number;
  /** Requests at once on one HTTP/2 connection. */
  readonly streamsPerSessionMax: number;
  /**
   * Requests of one HTTP/1.1 connection that wait for the answer before them to be read; with one more the
   * connection is cut.
   */
  readonly pipelinedMax: number;
  /**
   * Requests of one HTTP/2 connection at work or answered and not read yet; others wait. Streams and held
   * polls are not counted.
   */
  readonly answersPerSessionMax: number;
  /** A comment on a stream after this much silence. */
  readonly commentMs: number;
}

export const LIMITS: DoorLimits = {
  headerBytesMax: 16_384,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  keepAliveMs: 75_000,
  socketIdleMs: 120_000,
  sweepMs: 2000,
  requestsPerSocketMax: 10_000,
  connectionsPerAddressMax: 20_000,
  streamsPerSessionMax: 128,
  pipelinedMax: 64,
  answersPerSessionMax: 16,
  commentMs: 15_000,
};
