var __defProp = Object.defineProperty;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __esm = (fn, res, err) => function __init() {
  if (err) throw err[0];
  try {
    return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
  } catch (e) {
    throw err = [e], e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// proto/http/errors.ts
import { Code } from "@connectrpc/connect";
function apiError(code, message, options) {
  return new ApiError(code, message, options);
}
function toApiError(error) {
  if (error instanceof ApiError) return error;
  return new ApiError("internal", "something went wrong on our side; the request id names it in our log", { cause: error });
}
function errorBody(error, requestId) {
  return {
    error: {
      code: error.code,
      message: error.message,
      requestId,
      retryable: error.retryable,
      ...error.details === void 0 ? {} : { details: error.details }
    }
  };
}
var entry, ERRORS, ApiError;
var init_errors = __esm({
  "proto/http/errors.ts"() {
    "use strict";
    entry = (status, connect, retryable = false) => ({ status, connect, retryable });
    ERRORS = {
      already_member: entry(409, Code.AlreadyExists),
      body_too_large: entry(413, Code.ResourceExhausted),
      boot_superseded: entry(409, Code.Aborted),
      client_closed: entry(499, Code.Canceled),
      clock_skew: entry(401, Code.Unauthenticated),
      credentials_invalid: entry(401, Code.Unauthenticated),
      credentials_missing: entry(401, Code.Unauthenticated),
      csrf_refused: entry(403, Code.PermissionDenied),
      deadline_exceeded: entry(504, Code.DeadlineExceeded, true),
      feature_disabled: entry(403, Code.PermissionDenied),
      feature_not_toggleable: entry(409, Code.FailedPrecondition),
      feature_unknown: entry(404, Code.NotFound),
      headers_too_large: entry(431, Code.ResourceExhausted),
      idempotency_in_progress: entry(409, Code.Aborted, true),
      idempotency_key_invalid: entry(400, Code.InvalidArgument),
      idempotency_key_reused: entry(422, Code.InvalidArgument),
      internal: entry(500, Code.Internal, true),
      invite_invalid: entry(404, Code.NotFound),
      invite_other_account: entry(403, Code.PermissionDenied),
      key_in_use: entry(409, Code.AlreadyExists),
      key_unknown: entry(401, Code.Unauthenticated),
      key_weak: entry(400, Code.InvalidArgument),
      last_owner: entry(409, Code.FailedPrecondition),
      limit_reached: entry(409, Code.FailedPrecondition),
      log_digest_mismatch: entry(409, Code.Aborted),
      log_gap: entry(409, Code.OutOfRange),
      method_not_allowed: entry(405, Code.Unimplemented),
      misdirected: entry(421, Code.InvalidArgument),
      name_taken: entry(409, Code.AlreadyExists),
      not_found: entry(404, Code.NotFound),
      password_weak: entry(400, Code.InvalidArgument),
      precondition_failed: entry(412, Code.FailedPrecondition),
      rate_limited: entry(429, Code.ResourceExhausted, true),
      reason_required: entry(400, Code.InvalidArgument),
      region_unknown: entry(400, Code.InvalidArgument),
      replayed: entry(401, Code.Unauthenticated),
      request_invalid: entry(400, Code.InvalidArgument),
      request_timeout: entry(408, Code.DeadlineExceeded, true),
      role_insufficient: entry(403, Code.PermissionDenied),
      runner_revoked: entry(401, Code.Unauthenticated),
      scope_missing: entry(403, Code.PermissionDenied),
      session_required: entry(403, Code.PermissionDenied),
      signature_invalid: entry(401, Code.Unauthenticated),
      signature_missing: entry(401, Code.Unauthenticated),
      stale_epoch: entry(409, Code.Aborted),
      team_protected: entry(409, Code.FailedPrecondition),
      token_invalid: entry(401, Code.Unauthenticated),
      totp_already_enrolled: entry(409, Code.FailedPrecondition),
      totp_invalid: entry(401, Code.Unauthenticated),
      totp_not_pending: entry(409, Code.FailedPrecondition),
      totp_required: entry(401, Code.Unauthenticated),
      unavailable: entry(503, Code.Unavailable, true),
      unsupported_media_type: entry(415, Code.InvalidArgument),
      username_taken: entry(409, Code.AlreadyExists),
      validation_failed: entry(400, Code.InvalidArgument)
    };
    ApiError = class extends Error {
      code;
      status;
      retryable;
      details;
      retryAfterMs;
      headers;
      constructor(code, message, options = {}) {
        super(message, options.cause === void 0 ? void 0 : { cause: options.cause });
        this.name = "ApiError";
        this.code = code;
        this.status = ERRORS[code].status;
        this.retryable = options.retryable ?? ERRORS[code].retryable;
        this.details = options.details;
        this.retryAfterMs = options.retryAfterMs;
        this.headers = options.headers;
      }
      /** Connect and gRPC code. */
      get connect() {
        return ERRORS[this.code].connect;
      }
    };
  }
});

// proto/http/limits.ts
var limits_exports = {};
__export(limits_exports, {
  LIMITS: () => LIMITS
});
var LIMITS;
var init_limits = __esm({
  "proto/http/limits.ts"() {
    "use strict";
    LIMITS = {
      headerBytesMax: 16384,
      headersTimeoutMs: 1e4,
      bodyTimeoutMs: 3e4,
      keepAliveMs: 75e3,
      socketIdleMs: 12e4,
      sweepMs: 2e3,
      requestsPerSocketMax: 1e4,
      connectionsPerAddressMax: 2e4,
      streamsPerSessionMax: 128,
      commentMs: 15e3,
      // Clients give up on a silent connection after 8 s.
      peekMs: 2e3
    };
  }
});

// proto/http/request-id.ts
import { randomFillSync } from "node:crypto";
function newRequestId() {
  if (used + 10 > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const nowMs = Date.now();
  const high = 28672 | pool.readUInt16BE(used) & 4095;
  const low = pool.readUInt16BE(used + 2) & 16383;
  const bytes = [
    Math.floor(nowMs / 2 ** 40) & 255,
    Math.floor(nowMs / 2 ** 32) & 255,
    nowMs >>> 24 & 255,
    nowMs >>> 16 & 255,
    nowMs >>> 8 & 255,
    nowMs & 255,
    high >> 8,
    high & 255,
    128 | low >> 8,
    low & 255,
    ...pool.subarray(used + 4, used + 10)
  ];
  used += 10;
  return `req_${base32(bytes)}`;
}
function base32(bytes) {
  let text = "";
  let value2 = 0;
  let bits = 2;
  for (const byte of bytes) {
    value2 = value2 << 8 | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt(value2 >> bits & 31);
    }
    value2 &= (1 << bits) - 1;
  }
  return text;
}
function requestIdOf(inbound) {
  return inbound !== void 0 && SANE.test(inbound) ? inbound : newRequestId();
}
var ALPHABET, pool, used, SANE;
var init_request_id = __esm({
  "proto/http/request-id.ts"() {
    "use strict";
    ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
    pool = Buffer.alloc(4096);
    used = pool.length;
    SANE = /^[A-Za-z0-9][A-Za-z0-9._-]{7,127}$/;
  }
});

// proto/http/listener.ts
var listener_exports = {};
__export(listener_exports, {
  listen: () => listen
});
import { createServer as createHttp1 } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import { createServer as createTcp } from "node:net";
async function listen({ port, host, limits, onRequest }) {
  const h1 = http1Server(limits, onRequest);
  const h2 = http2Server(limits, onRequest);
  const sessions = /* @__PURE__ */ new Set();
  const sockets = /* @__PURE__ */ new Set();
  const undecided = /* @__PURE__ */ new Set();
  const perAddress = /* @__PURE__ */ new Map();
  h2.on("session", (session) => watchSession(session, sessions, limits));
  const tcp = createTcp({ noDelay: true }, (socket) => {
    if (!countAddress(socket, perAddress, limits.connectionsPerAddressMax)) return;
    sockets.add(socket);
    undecided.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => {
      sockets.delete(socket);
      undecided.delete(socket);
    });
    decide(socket, limits.headersTimeoutMs, (isHttp2) => {
      undecided.delete(socket);
      (isHttp2 ? h2 : h1).emit("connection", socket);
    });
  });
  await new Promise((resolve, reject) => {
    tcp.once("error", reject);
    tcp.listen({ port, host, backlog: 4096 }, resolve);
  });
  const closed = new Promise((resolve) => tcp.once("close", () => resolve()));
  return {
    port: tcp.address().port,
    drain() {
      tcp.close();
      for (const socket of undecided) socket.destroy();
      h1.closeIdleConnections();
      for (const session of sessions) session.close();
    },
    async destroy() {
      tcp.close();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      clearSweep(h1);
      await closed;
    }
  };
}
function http1Server(limits, onRequest) {
  const server = createHttp1(
    {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.bodyTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: limits.sweepMs,
      // The door answers a missing Host itself, in the one shape of errors.
      requireHostHeader: false
    },
    onRequest
  );
  server.maxRequestsPerSocket = limits.requestsPerSocketMax;
  server.timeout = limits.socketIdleMs;
  server.on("checkExpectation", onRequest);
  server.on("clientError", answerBroken);
  server.emit("listening");
  return server;
}
function clearSweep(server) {
  server.close(() => {
  });
}
function http2Server(limits, onRequest) {
  return createHttp2(
    {
      maxSessionMemory: 10,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      settings: { maxConcurrentStreams: limits.streamsPerSessionMax, maxHeaderListSize: limits.headerBytesMax }
    },
    onRequest
  );
}
function decide(socket, timeoutMs, done) {
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  let head = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    }
    const start = head.toString("latin1", 0, 3);
    if (start.length === 0 || start.length < 3 && "PRI".startsWith(start)) return;
    clearTimeout(timer);
    socket.off("readable", onReadable);
    socket.unshift(head);
    done(start === "PRI");
  };
  socket.on("readable", onReadable);
  socket.once("close", () => clearTimeout(timer));
  socket.once("end", () => {
    if (head.length < 3) socket.destroy();
  });
}
function countAddress(socket, perAddress, most) {
  const address = socket.remoteAddress ?? "";
  const count = (perAddress.get(address) ?? 0) + 1;
  if (count > most) {
    socket.destroy();
    return false;
  }
  perAddress.set(address, count);
  socket.once("close", () => {
    const left = (perAddress.get(address) ?? 1) - 1;
    if (left === 0) perAddress.delete(address);
    else perAddress.set(address, left);
  });
  return true;
}
function watchSession(session, sessions, limits) {
  sessions.add(session);
  const greeting = setTimeout(() => session.destroy(), limits.headersTimeoutMs);
  session.once("remoteSettings", () => clearTimeout(greeting));
  session.once("close", () => {
    clearTimeout(greeting);
    sessions.delete(session);
  });
  session.on("error", () => session.destroy());
  session.setTimeout(limits.keepAliveMs, () => {
    if (session.closed) return session.destroy();
    session.close();
    session.setTimeout(limits.socketIdleMs, () => session.destroy());
  });
}
function answerBroken(error, socket) {
  if (error.code === "ECONNRESET" || !socket.writable || socket._httpMessage != null) {
    socket.destroy();
    return;
  }
  const known = brokenRequest(error.code);
  const requestId = newRequestId();
  const body = JSON.stringify(errorBody(known, requestId));
  socket.end(
    [
      `HTTP/1.1 ${known.status} ${REASONS[known.status] ?? "Error"}`,
      "content-type: application/json; charset=utf-8",
      "cache-control: no-store",
      "x-content-type-options: nosniff",
      `x-request-id: ${requestId}`,
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
      "",
      body
    ].join("\r\n")
  );
}
function brokenRequest(code) {
  if (code === "HPE_HEADER_OVERFLOW") return apiError("headers_too_large", "the request line and headers are too large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return apiError("request_timeout", "the request was not complete in time");
  return apiError("request_invalid", "the bytes received are not a valid HTTP/1.1 request");
}
var REASONS;
var init_listener = __esm({
  "proto/http/listener.ts"() {
    "use strict";
    init_errors();
    init_request_id();
    REASONS = { 400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large" };
  }
});

// proto/http/.bench.ts
import { create as create4 } from "@bufbuild/protobuf";
import { createServer } from "node:http";

// proto/gen/svc/account/v1/account_pb.ts
import { enumDesc as enumDesc3, fileDesc as fileDesc5, messageDesc as messageDesc3, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

// proto/gen/google/api/annotations_pb.ts
import { extDesc, fileDesc as fileDesc2 } from "@bufbuild/protobuf/codegenv2";

// proto/gen/google/api/http_pb.ts
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
var file_google_api_http = /* @__PURE__ */ fileDesc("ChVnb29nbGUvYXBpL2h0dHAucHJvdG8SCmdvb2dsZS5hcGkiVAoESHR0cBIjCgVydWxlcxgBIAMoCzIULmdvb2dsZS5hcGkuSHR0cFJ1bGUSJwofZnVsbHlfZGVjb2RlX3Jlc2VydmVkX2V4cGFuc2lvbhgCIAEoCCKBAgoISHR0cFJ1bGUSEAoIc2VsZWN0b3IYASABKAkSDQoDZ2V0GAIgASgJSAASDQoDcHV0GAMgASgJSAASDgoEcG9zdBgEIAEoCUgAEhAKBmRlbGV0ZRgFIAEoCUgAEg8KBXBhdGNoGAYgASgJSAASLwoGY3VzdG9tGAggASgLMh0uZ29vZ2xlLmFwaS5DdXN0b21IdHRwUGF0dGVybkgAEgwKBGJvZHkYByABKAkSFQoNcmVzcG9uc2VfYm9keRgMIAEoCRIxChNhZGRpdGlvbmFsX2JpbmRpbmdzGAsgAygLMhQuZ29vZ2xlLmFwaS5IdHRwUnVsZUIJCgdwYXR0ZXJuIi8KEUN1c3RvbUh0dHBQYXR0ZXJuEgwKBGtpbmQYASABKAkSDAoEcGF0aBgCIAEoCUJnCg5jb20uZ29vZ2xlLmFwaUIJSHR0cFByb3RvUAFaQWdvb2dsZS5nb2xhbmcub3JnL2dlbnByb3RvL2dvb2dsZWFwaXMvYXBpL2Fubm90YXRpb25zO2Fubm90YXRpb25zogIER0FQSWIGcHJvdG8z");

// proto/gen/google/api/annotations_pb.ts
import { file_google_protobuf_descriptor } from "@bufbuild/protobuf/wkt";
var file_google_api_annotations = /* @__PURE__ */ fileDesc2("Chxnb29nbGUvYXBpL2Fubm90YXRpb25zLnByb3RvEgpnb29nbGUuYXBpOksKBGh0dHASHi5nb29nbGUucHJvdG9idWYuTWV0aG9kT3B0aW9ucxiwyrwiIAEoCzIULmdvb2dsZS5hcGkuSHR0cFJ1bGVSBGh0dHBCbgoOY29tLmdvb2dsZS5hcGlCEEFubm90YXRpb25zUHJvdG9QAVpBZ29vZ2xlLmdvbGFuZy5vcmcvZ2VucHJvdG8vZ29vZ2xlYXBpcy9hcGkvYW5ub3RhdGlvbnM7YW5ub3RhdGlvbnOiAgRHQVBJYgZwcm90bzM", [file_google_api_http, file_google_protobuf_descriptor]);

// proto/gen/google/api/field_behavior_pb.ts
import { enumDesc, extDesc as extDesc2, fileDesc as fileDesc3 } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_descriptor as file_google_protobuf_descriptor2 } from "@bufbuild/protobuf/wkt";
var file_google_api_field_behavior = /* @__PURE__ */ fileDesc3("Ch9nb29nbGUvYXBpL2ZpZWxkX2JlaGF2aW9yLnByb3RvEgpnb29nbGUuYXBpKrYBCg1GaWVsZEJlaGF2aW9yEh4KGkZJRUxEX0JFSEFWSU9SX1VOU1BFQ0lGSUVEEAASDAoIT1BUSU9OQUwQARIMCghSRVFVSVJFRBACEg8KC09VVFBVVF9PTkxZEAMSDgoKSU5QVVRfT05MWRAEEg0KCUlNTVVUQUJMRRAFEhIKDlVOT1JERVJFRF9MSVNUEAYSFQoRTk9OX0VNUFRZX0RFRkFVTFQQBxIOCgpJREVOVElGSUVSEAg6ZAoOZmllbGRfYmVoYXZpb3ISHS5nb29nbGUucHJvdG9idWYuRmllbGRPcHRpb25zGJwIIAMoDjIZLmdvb2dsZS5hcGkuRmllbGRCZWhhdmlvckICEABSDWZpZWxkQmVoYXZpb3JCcAoOY29tLmdvb2dsZS5hcGlCEkZpZWxkQmVoYXZpb3JQcm90b1ABWkFnb29nbGUuZ29sYW5nLm9yZy9nZW5wcm90by9nb29nbGVhcGlzL2FwaS9hbm5vdGF0aW9uczthbm5vdGF0aW9uc6ICBEdBUEliBnByb3RvMw", [file_google_protobuf_descriptor2]);

// proto/gen/svc/account/v1/account_pb.ts
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";

// proto/gen/svc/options/v1/options_pb.ts
import { enumDesc as enumDesc2, extDesc as extDesc3, fileDesc as fileDesc4, messageDesc as messageDesc2 } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_descriptor as file_google_protobuf_descriptor3 } from "@bufbuild/protobuf/wkt";
var file_svc_options_v1_options = /* @__PURE__ */ fileDesc4("ChxzdmMvb3B0aW9ucy92MS9vcHRpb25zLnByb3RvEg5zdmMub3B0aW9ucy52MSJyCghSZXNvdXJjZRILCgNzZGsYASABKAkSCwoDY2xpGAIgASgJEg8KB3N1bW1hcnkYAyABKAkSDwoHZmVhdHVyZRgEIAEoCRIqCghhdWRpZW5jZRgFIAEoDjIYLnN2Yy5vcHRpb25zLnYxLkF1ZGllbmNlIs0ECglPcGVyYXRpb24SCwoDc2RrGAEgASgJEgwKBGFyZ3MYAiADKAkSFQoNb3B0aW9uYWxfYXJncxgDIAMoCRIPCgdjb21tYW5kGAQgASgJEhQKDGNvbW1hbmRfYXJncxgFIAMoCRIiCgRhdXRoGAYgASgOMhQuc3ZjLm9wdGlvbnMudjEuQXV0aBIkCgVzY29wZRgHIAEoDjIVLnN2Yy5vcHRpb25zLnYxLlNjb3BlEiIKBHJvbGUYCCABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlEg8KB2ZlYXR1cmUYCSABKAkSMAoLaWRlbXBvdGVuY3kYCiABKA4yGy5zdmMub3B0aW9ucy52MS5JZGVtcG90ZW5jeRIWCg5zdWNjZXNzX3N0YXR1cxgLIAEoDRIiCgRwYWdlGAwgASgLMhQuc3ZjLm9wdGlvbnMudjEuUGFnZRImCgZzdHJlYW0YDSABKAsyFi5zdmMub3B0aW9ucy52MS5TdHJlYW0SEwoLZGVzdHJ1Y3RpdmUYDiABKAgSEgoKdGltZW91dF9tcxgPIAEoDRIWCg5ib2R5X2J5dGVzX21heBgQIAEoDRISCgpyYXRlX2xpbWl0GBEgASgJEiwKCXN0YWJpbGl0eRgSIAEoDjIZLnN2Yy5vcHRpb25zLnYxLlN0YWJpbGl0eRIpCghleGFtcGxlcxgTIAMoCzIXLnN2Yy5vcHRpb25zLnYxLkV4YW1wbGUSEwoLc2RrX3JldHVybnMYFCABKAkSDwoHY29sdW1ucxgVIAMoCSI/CgRQYWdlEg0KBWl0ZW1zGAEgASgJEhUKDWRlZmF1bHRfbGltaXQYAiABKA0SEQoJbWF4X2xpbWl0GAMgASgNIjAKBlN0cmVhbRIQCghpZF9maWVsZBgBIAEoCRIUCgxyZXN1bWVfZmllbGQYAiABKAkiMgoHRXhhbXBsZRINCgV0aXRsZRgBIAEoCRILCgNjbGkYAiABKAkSCwoDc2RrGAMgASgJIn4KBUZpZWxkEhEKCXNlbnNpdGl2ZRgBIAEoCBIMCgRmbGFnGAIgASgJEg0KBXNob3J0GAMgASgJEg4KBmhpZGRlbhgEIAEoCBITCgtwbGFjZWhvbGRlchgFIAEoCRISCgpjbGlfZm9ybWF0GAYgASgJEgwKBHJlc3QYByABKAgiFQoFVmFsdWUSDAoEbmFtZRgBIAEoCSplCghBdWRpZW5jZRIYChRBVURJRU5DRV9VTlNQRUNJRklFRBAAEhMKD0FVRElFTkNFX1BVQkxJQxABEhMKD0FVRElFTkNFX1JVTk5FUhACEhUKEUFVRElFTkNFX0lOVEVSTkFMEAMqsgEKBEF1dGgSFAoQQVVUSF9VTlNQRUNJRklFRBAAEg0KCUFVVEhfTk9ORRABEhEKDUFVVEhfT1BUSU9OQUwQAhIRCg1BVVRIX1JFUVVJUkVEEAMSEAoMQVVUSF9TRVNTSU9OEAQSDgoKQVVUSF9TVEFGRhAFEhkKFUFVVEhfRU5ST0xMTUVOVF9UT0tFThAGEg8KC0FVVEhfUlVOTkVSEAcSEQoNQVVUSF9JTlRFUk5BTBAIKvQDCgVTY29wZRIVChFTQ09QRV9VTlNQRUNJRklFRBAAEiQKD1NDT1BFX1RFQU1fUkVBRBABGg+KtRgLCgl0ZWFtOnJlYWQSKAoRU0NPUEVfVEVBTV9NQU5BR0UQAhoRirUYDQoLdGVhbTptYW5hZ2USKgoSU0NPUEVfUFJPSkVDVF9SRUFEEAMaEoq1GA4KDHByb2plY3Q6cmVhZBIsChNTQ09QRV9QUk9KRUNUX1dSSVRFEAQaE4q1GA8KDXByb2plY3Q6d3JpdGUSIgoOU0NPUEVfUlVOX1JFQUQQBRoOirUYCgoIcnVuOnJlYWQSJAoPU0NPUEVfUlVOX1dSSVRFEAYaD4q1GAsKCXJ1bjp3cml0ZRIoChFTQ09QRV9SVU5ORVJfUkVBRBAHGhGKtRgNCgtydW5uZXI6cmVhZBIsChNTQ09QRV9SVU5ORVJfTUFOQUdFEAgaE4q1GA8KDXJ1bm5lcjptYW5hZ2USIAoNU0NPUEVfQ0lfUkVBRBAJGg2KtRgJCgdjaTpyZWFkEiIKDlNDT1BFX0NJX1dSSVRFEAoaDoq1GAoKCGNpOndyaXRlEiQKD1NDT1BFX0NJX01BTkFHRRALGg+KtRgLCgljaTptYW5hZ2USHAoLU0NPUEVfU1RBRkYQDBoLirUYBwoFc3RhZmYqYQoEUm9sZRIUChBST0xFX1VOU1BFQ0lGSUVEEAASDwoLUk9MRV9WSUVXRVIQARISCg5ST0xFX0RFVkVMT1BFUhACEg4KClJPTEVfQURNSU4QAxIOCgpST0xFX09XTkVSEAQqiwEKC0lkZW1wb3RlbmN5EhsKF0lERU1QT1RFTkNZX1VOU1BFQ0lGSUVEEAASFQoRSURFTVBPVEVOQ1lfS0VZRUQQARIZChVJREVNUE9URU5DWV9TVEFURU1FTlQQAhIXChNJREVNUE9URU5DWV9OQVRVUkFMEAMSFAoQSURFTVBPVEVOQ1lfTk9ORRAEKm8KCVN0YWJpbGl0eRIZChVTVEFCSUxJVFlfVU5TUEVDSUZJRUQQABIUChBTVEFCSUxJVFlfU1RBQkxFEAESFQoRU1RBQklMSVRZX1BSRVZJRVcQAhIaChZTVEFCSUxJVFlfRVhQRVJJTUVOVEFMEAM6VwoIcmVzb3VyY2USHy5nb29nbGUucHJvdG9idWYuU2VydmljZU9wdGlvbnMY0YYDIAEoCzIYLnN2Yy5vcHRpb25zLnYxLlJlc291cmNlUghyZXNvdXJjZTpLCgJvcBIeLmdvb2dsZS5wcm90b2J1Zi5NZXRob2RPcHRpb25zGNGGAyABKAsyGS5zdmMub3B0aW9ucy52MS5PcGVyYXRpb25SAm9wOkwKBWZpZWxkEh0uZ29vZ2xlLnByb3RvYnVmLkZpZWxkT3B0aW9ucxjRhgMgASgLMhUuc3ZjLm9wdGlvbnMudjEuRmllbGRSBWZpZWxkOlAKBXZhbHVlEiEuZ29vZ2xlLnByb3RvYnVmLkVudW1WYWx1ZU9wdGlvbnMY0YYDIAEoCzIVLnN2Yy5vcHRpb25zLnYxLlZhbHVlUgV2YWx1ZWIGcHJvdG8z", [file_google_protobuf_descriptor3]);
var value = /* @__PURE__ */ extDesc3(file_svc_options_v1_options, 3);

// proto/gen/svc/account/v1/account_pb.ts
var file_svc_account_v1_account = /* @__PURE__ */ fileDesc5("ChxzdmMvYWNjb3VudC92MS9hY2NvdW50LnByb3RvEg5zdmMuYWNjb3VudC52MSIPCg1XaG9hbWlSZXF1ZXN0IuMBCg5XaG9hbWlSZXNwb25zZRIUCgd1c2VyX2lkGAEgASgJQgPgQQMSEgoFZW1haWwYAiABKAlCA+BBAxIVCgh1c2VybmFtZRgDIAEoCUID4EEDEhIKBXN0YWZmGAQgASgIQgPgQQMSNwoKY3JlZGVudGlhbBgFIAEoDjIeLnN2Yy5hY2NvdW50LnYxLkNyZWRlbnRpYWxLaW5kQgPgQQMSEwoGc2NvcGVzGAYgAygJQgPgQQMSLgoFdGVhbXMYByADKAsyGi5zdmMuYWNjb3VudC52MS5NZW1iZXJzaGlwQgPgQQMiXgoKTWVtYmVyc2hpcBIUCgd0ZWFtX2lkGAEgASgJQgPgQQMSEQoEbmFtZRgCIAEoCUID4EEDEicKBHJvbGUYAyABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlQgPgQQMiDQoLUGxhblJlcXVlc3QiwAEKDFBsYW5SZXNwb25zZRIRCgRuYW1lGAEgASgJQgPgQQMSIAoTcmVxdWVzdHNfcGVyX21pbnV0ZRgCIAEoDUID4EEDEhkKDGFwaV9rZXlzX21heBgDIAEoDUID4EEDEhYKCXRlYW1zX21heBgEIAEoDUID4EEDEiEKFHJ1bm5lcnNfcGVyX3RlYW1fbWF4GAUgASgNQgPgQQMSJQoYcXVldWVkX3J1bnNfcGVyX3RlYW1fbWF4GAYgASgNQgPgQQMiUQoVVXBkYXRlVXNlcm5hbWVSZXF1ZXN0EjgKCHVzZXJuYW1lGAEgASgJQibgQQK6SCByHhACGCcyGF5bYS16MC05XSsoLVthLXowLTldKykqJCITChFUb3RwU3RhdHVzUmVxdWVzdCKaAQoSVG90cFN0YXR1c1Jlc3BvbnNlEhUKCGVucm9sbGVkGAEgASgIQgPgQQMSOgoMY29uZmlybWVkX2F0GAIgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDSACIAQESIAoTcmVjb3ZlcnlfY29kZXNfbGVmdBgDIAEoDUID4EEDQg8KDV9jb25maXJtZWRfYXQiEwoRVG90cEVucm9sbFJlcXVlc3QiTwoSVG90cEVucm9sbFJlc3BvbnNlEhkKBnNlY3JldBgBIAEoCUIJ4EEDirUYAggBEh4KC290cGF1dGhfdXJsGAIgASgJQgngQQOKtRgCCAEiPgoSVG90cENvbmZpcm1SZXF1ZXN0EigKBGNvZGUYASABKAlCGuBBArpIDnIMMgpeWzAtOV17Nn0kirUYAggBIjgKE1RvdHBDb25maXJtUmVzcG9uc2USIQoOcmVjb3ZlcnlfY29kZXMYASADKAlCCeBBA4q1GAIIASIUChJUb3RwRGlzYWJsZVJlcXVlc3QiFQoTVG90cERpc2FibGVSZXNwb25zZSJxChVDaGFuZ2VQYXNzd29yZFJlcXVlc3QSLQoQY3VycmVudF9wYXNzd29yZBgBIAEoCUIT4EECukgHcgUQASiAAoq1GAIIARIpCgxuZXdfcGFzc3dvcmQYAiABKAlCE+BBArpIB3IFEAwogAKKtRgCCAEiGAoWQ2hhbmdlUGFzc3dvcmRSZXNwb25zZSprCg5DcmVkZW50aWFsS2luZBIfChtDUkVERU5USUFMX0tJTkRfVU5TUEVDSUZJRUQQABIbChdDUkVERU5USUFMX0tJTkRfQVBJX0tFWRABEhsKF0NSRURFTlRJQUxfS0lORF9TRVNTSU9OEAIyzwgKDkFjY291bnRTZXJ2aWNlEmIKBldob2FtaRIdLnN2Yy5hY2NvdW50LnYxLldob2FtaVJlcXVlc3QaHi5zdmMuYWNjb3VudC52MS5XaG9hbWlSZXNwb25zZSIZkAIBirUYAjADgtPkkwIKEggvYWNjb3VudBJhCgRQbGFuEhsuc3ZjLmFjY291bnQudjEuUGxhblJlcXVlc3QaHC5zdmMuYWNjb3VudC52MS5QbGFuUmVzcG9uc2UiHpACAYq1GAIwA4LT5JMCDxINL2FjY291bnQvcGxhbhKRAQoOVXBkYXRlVXNlcm5hbWUSJS5zdmMuYWNjb3VudC52MS5VcGRhdGVVc2VybmFtZVJlcXVlc3QaHi5zdmMuYWNjb3VudC52MS5XaG9hbWlSZXNwb25zZSI4irUYGBIIdXNlcm5hbWUqCHVzZXJuYW1lMARQAYLT5JMCFjoBKjIRL2FjY291bnQvdXNlcm5hbWUScwoKVG90cFN0YXR1cxIhLnN2Yy5hY2NvdW50LnYxLlRvdHBTdGF0dXNSZXF1ZXN0GiIuc3ZjLmFjY291bnQudjEuVG90cFN0YXR1c1Jlc3BvbnNlIh6QAgGKtRgCMAOC0+STAg8SDS9hY2NvdW50L3RvdHASeAoKVG90cEVucm9sbBIhLnN2Yy5hY2NvdW50LnYxLlRvdHBFbnJvbGxSZXF1ZXN0GiIuc3ZjLmFjY291bnQudjEuVG90cEVucm9sbFJlc3BvbnNlIiOKtRgHMARQBFjJAYLT5JMCEjoBKiINL2FjY291bnQvdG90cBKUAQoLVG90cENvbmZpcm0SIi5zdmMuYWNjb3VudC52MS5Ub3RwQ29uZmlybVJlcXVlc3QaIy5zdmMuYWNjb3VudC52MS5Ub3RwQ29uZmlybVJlc3BvbnNlIjyKtRgYEgRjb2RlKgRjb2RlMARQBIoBBWxvZ2lugtPkkwIaOgEqIhUvYWNjb3VudC90b3RwL2NvbmZpcm0SegoLVG90cERpc2FibGUSIi5zdmMuYWNjb3VudC52MS5Ub3RwRGlzYWJsZVJlcXVlc3QaIy5zdmMuYWNjb3VudC52MS5Ub3RwRGlzYWJsZVJlc3BvbnNlIiKKtRgJMARQA1jMAXABgtPkkwIPKg0vYWNjb3VudC90b3RwErMBCg5DaGFuZ2VQYXNzd29yZBIlLnN2Yy5hY2NvdW50LnYxLkNoYW5nZVBhc3N3b3JkUmVxdWVzdBomLnN2Yy5hY2NvdW50LnYxLkNoYW5nZVBhc3N3b3JkUmVzcG9uc2UiUoq1GDISEGN1cnJlbnRfcGFzc3dvcmQSDG5ld19wYXNzd29yZCIBLTAEUARYzAGKAQVsb2dpboLT5JMCFjoBKiIRL2FjY291bnQvcGFzc3dvcmQaKoq1GCYKB2FjY291bnQSB2FjY291bnQaEFlvdXIgb3duIGFjY291bnQoAWIGcHJvdG8z", [file_buf_validate_validate, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp, file_svc_options_v1_options]);
var AccountService = /* @__PURE__ */ serviceDesc(file_svc_account_v1_account, 0);

// proto/gen/svc/teams/v1/teams_pb.ts
import { enumDesc as enumDesc5, fileDesc as fileDesc7, messageDesc as messageDesc5, serviceDesc as serviceDesc3 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate2 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp2 } from "@bufbuild/protobuf/wkt";

// proto/gen/svc/regions/v1/regions_pb.ts
import { enumDesc as enumDesc4, fileDesc as fileDesc6, messageDesc as messageDesc4, serviceDesc as serviceDesc2 } from "@bufbuild/protobuf/codegenv2";
var file_svc_regions_v1_regions = /* @__PURE__ */ fileDesc6("ChxzdmMvcmVnaW9ucy92MS9yZWdpb25zLnByb3RvEg5zdmMucmVnaW9ucy52MSJdCgZSZWdpb24SDwoCaWQYASABKAlCA+BBAxIRCgRuYW1lGAIgASgJQgPgQQMSLwoIb3BlcmF0b3IYAyABKA4yGC5zdmMucmVnaW9ucy52MS5PcGVyYXRvckID4EEDIg0KC0xpc3RSZXF1ZXN0IjwKDExpc3RSZXNwb25zZRIsCgdyZWdpb25zGAEgAygLMhYuc3ZjLnJlZ2lvbnMudjEuUmVnaW9uQgPgQQMqUQoIT3BlcmF0b3ISGAoUT1BFUkFUT1JfVU5TUEVDSUZJRUQQABIUChBPUEVSQVRPUl9TRVJWSUNFEAESFQoRT1BFUkFUT1JfQ1VTVE9NRVIQAjLPAQoOUmVnaW9uc1NlcnZpY2USfQoETGlzdBIbLnN2Yy5yZWdpb25zLnYxLkxpc3RSZXF1ZXN0Ghwuc3ZjLnJlZ2lvbnMudjEuTGlzdFJlc3BvbnNlIjqQAgGKtRgjMAOiAQdyZWdpb25zqgECaWSqAQRuYW1lqgEIb3BlcmF0b3KC0+STAgoSCC9yZWdpb25zGj6KtRg6CgdyZWdpb25zEgdyZWdpb25zGiRXaGVyZSB3b3JrIHJ1bnMsIGFuZCB3aG8gb3BlcmF0ZXMgaXQoAWIGcHJvdG8z", [file_google_api_annotations, file_google_api_field_behavior, file_svc_options_v1_options]);
var RegionsService = /* @__PURE__ */ serviceDesc2(file_svc_regions_v1_regions, 0);

// proto/gen/svc/teams/v1/teams_pb.ts
var file_svc_teams_v1_teams = /* @__PURE__ */ fileDesc7("ChhzdmMvdGVhbXMvdjEvdGVhbXMucHJvdG8SDHN2Yy50ZWFtcy52MSLRAgoEVGVhbRIPCgJpZBgBIAEoCUID4EEDEhEKBG5hbWUYAiABKAlCA+BBAxIYCgtkZXNjcmlwdGlvbhgDIAEoCUID4EEDEhwKCmF2YXRhcl91cmwYBCABKAlCA+BBA0gAiAEBEikKBGtpbmQYBSABKA4yFi5zdmMudGVhbXMudjEuVGVhbUtpbmRCA+BBAxIWCglyZWdpb25faWQYBiABKAlCA+BBAxIvCghvcGVyYXRvchgHIAEoDjIYLnN2Yy5yZWdpb25zLnYxLk9wZXJhdG9yQgPgQQMSLAoEcm9sZRgIIAEoDjIULnN2Yy5vcHRpb25zLnYxLlJvbGVCA+BBA0gBiAEBEjMKCmNyZWF0ZWRfYXQYCSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNCDQoLX2F2YXRhcl91cmxCBwoFX3JvbGUipgEKBk1lbWJlchIUCgd1c2VyX2lkGAEgASgJQgPgQQMSEgoFZW1haWwYAiABKAlCA+BBAxIVCgh1c2VybmFtZRgDIAEoCUID4EEDEicKBHJvbGUYBCABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlQgPgQQMSMgoJam9pbmVkX2F0GAUgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDIsABCgZJbnZpdGUSDwoCaWQYASABKAlCA+BBAxISCgVlbWFpbBgCIAEoCUID4EEDEicKBHJvbGUYAyABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlQgPgQQMSMwoKZXhwaXJlc19hdBgEIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxIzCgpjcmVhdGVkX2F0GAUgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDIg0KC0xpc3RSZXF1ZXN0IjYKDExpc3RSZXNwb25zZRImCgV0ZWFtcxgBIAMoCzISLnN2Yy50ZWFtcy52MS5UZWFtQgPgQQMiIgoKR2V0UmVxdWVzdBIUCgd0ZWFtX2lkGAEgASgJQgPgQQIiZwoJTmV3TWVtYmVyEhwKBWVtYWlsGAEgASgJQg3gQQK6SAdyBRj+AWABEjMKBHJvbGUYAiABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlQgq6SAeCAQQQASAASACIAQFCBwoFX3JvbGUiXwoNQ3JlYXRlUmVxdWVzdBIaCgRuYW1lGAEgASgJQgzgQQK6SAZyBBABGGQSMgoHbWVtYmVycxgCIAMoCzIXLnN2Yy50ZWFtcy52MS5OZXdNZW1iZXJCCLpIBZIBAhAyIoQCCg1VcGRhdGVSZXF1ZXN0EhQKB3RlYW1faWQYASABKAlCA+BBAhIcCgRuYW1lGAIgASgJQgm6SAZyBBABGGRIAIgBARIiCgtkZXNjcmlwdGlvbhgDIAEoCUIIukgFcgMY6AdIAYgBARIzCgphdmF0YXJfdXJsGAQgASgJQhq6SBdyFRj0AzIQXmh0dHBzOi8vW15cc10rJEgCiAEBEjUKBGtpbmQYBSABKA4yFi5zdmMudGVhbXMudjEuVGVhbUtpbmRCCrpIB4IBBBABIABIA4gBAUIHCgVfbmFtZUIOCgxfZGVzY3JpcHRpb25CDQoLX2F2YXRhcl91cmxCBwoFX2tpbmQiJQoNRGVsZXRlUmVxdWVzdBIUCgd0ZWFtX2lkGAEgASgJQgPgQQIiEAoORGVsZXRlUmVzcG9uc2UiKgoSTGlzdE1lbWJlcnNSZXF1ZXN0EhQKB3RlYW1faWQYASABKAlCA+BBAiJBChNMaXN0TWVtYmVyc1Jlc3BvbnNlEioKB21lbWJlcnMYASADKAsyFC5zdmMudGVhbXMudjEuTWVtYmVyQgPgQQMieAoXVXBkYXRlTWVtYmVyUm9sZVJlcXVlc3QSFAoHdGVhbV9pZBgBIAEoCUID4EECEhQKB3VzZXJfaWQYAiABKAlCA+BBAhIxCgRyb2xlGAMgASgOMhQuc3ZjLm9wdGlvbnMudjEuUm9sZUIN4EECukgHggEEEAEgACJBChNSZW1vdmVNZW1iZXJSZXF1ZXN0EhQKB3RlYW1faWQYASABKAlCA+BBAhIUCgd1c2VyX2lkGAIgASgJQgPgQQIiFgoUUmVtb3ZlTWVtYmVyUmVzcG9uc2UiKgoSTGlzdEludml0ZXNSZXF1ZXN0EhQKB3RlYW1faWQYASABKAlCA+BBAiJBChNMaXN0SW52aXRlc1Jlc3BvbnNlEioKB2ludml0ZXMYASADKAsyFC5zdmMudGVhbXMudjEuSW52aXRlQgPgQQMihwEKE0ludml0ZU1lbWJlclJlcXVlc3QSFAoHdGVhbV9pZBgBIAEoCUID4EECEhwKBWVtYWlsGAIgASgJQg3gQQK6SAdyBRj+AWABEjMKBHJvbGUYAyABKA4yFC5zdmMub3B0aW9ucy52MS5Sb2xlQgq6SAeCAQQQASAASACIAQFCBwoFX3JvbGUiWwoUSW52aXRlTWVtYmVyUmVzcG9uc2USKQoGaW52aXRlGAEgASgLMhQuc3ZjLnRlYW1zLnYxLkludml0ZUID4EEDEhgKBXRva2VuGAIgASgJQgngQQOKtRgCCAEiQwoTUmV2b2tlSW52aXRlUmVxdWVzdBIUCgd0ZWFtX2lkGAEgASgJQgPgQQISFgoJaW52aXRlX2lkGAIgASgJQgPgQQIiFgoUUmV2b2tlSW52aXRlUmVzcG9uc2UiuAEKE0FjY2VwdEludml0ZVJlcXVlc3QSIgoFdG9rZW4YASABKAlCE+BBArpIB3IFEAEYyAGKtRgCCAESOgoIdXNlcm5hbWUYAiABKAlCI7pIIHIeEAIYJzIYXlthLXowLTldKygtW2EtejAtOV0rKSokSACIAQESJwoIcGFzc3dvcmQYAyABKAlCELpIB3IFEAwogAKKtRgCCAFIAYgBAUILCglfdXNlcm5hbWVCCwoJX3Bhc3N3b3JkIj0KFEFjY2VwdEludml0ZVJlc3BvbnNlEiUKBHRlYW0YASABKAsyEi5zdmMudGVhbXMudjEuVGVhbUID4EEDIkkKEFNldFJlZ2lvblJlcXVlc3QSFAoHdGVhbV9pZBgBIAEoCUID4EECEh8KCXJlZ2lvbl9pZBgCIAEoCUIM4EECukgGcgQQARgoKlkKCFRlYW1LaW5kEhkKFVRFQU1fS0lORF9VTlNQRUNJRklFRBAAEhYKElRFQU1fS0lORF9QRVJTT05BTBABEhoKFlRFQU1fS0lORF9PUkdBTklaQVRJT04QAjLJDgoMVGVhbXNTZXJ2aWNlEn4KBExpc3QSGS5zdmMudGVhbXMudjEuTGlzdFJlcXVlc3QaGi5zdmMudGVhbXMudjEuTGlzdFJlc3BvbnNlIj+QAgGKtRgqMAM4AaIBBXRlYW1zqgECaWSqAQRuYW1lqgEEcm9sZaoBCG9wZXJhdG9ygtPkkwIIEgYvdGVhbXMSWAoDR2V0Ehguc3ZjLnRlYW1zLnYxLkdldFJlcXVlc3QaEi5zdmMudGVhbXMudjEuVGVhbSIjkAIBirUYBDADOAGC0+STAhISEC90ZWFtcy97dGVhbV9pZH0SdwoGQ3JlYXRlEhsuc3ZjLnRlYW1zLnYxLkNyZWF0ZVJlcXVlc3QaEi5zdmMudGVhbXMudjEuVGVhbSI8irUYJxIEbmFtZRIHbWVtYmVycxoHbWVtYmVycyoEbmFtZTADOAJQAVjJAYLT5JMCCzoBKiIGL3RlYW1zEmAKBlVwZGF0ZRIbLnN2Yy50ZWFtcy52MS5VcGRhdGVSZXF1ZXN0GhIuc3ZjLnRlYW1zLnYxLlRlYW0iJYq1GAYwAzgCUAGC0+STAhU6ASoyEC90ZWFtcy97dGVhbV9pZH0SbgoGRGVsZXRlEhsuc3ZjLnRlYW1zLnYxLkRlbGV0ZVJlcXVlc3QaHC5zdmMudGVhbXMudjEuRGVsZXRlUmVzcG9uc2UiKYq1GA0wAzgCQARQAVjMAXABgtPkkwISKhAvdGVhbXMve3RlYW1faWR9EroBCgtMaXN0TWVtYmVycxIgLnN2Yy50ZWFtcy52MS5MaXN0TWVtYmVyc1JlcXVlc3QaIS5zdmMudGVhbXMudjEuTGlzdE1lbWJlcnNSZXNwb25zZSJmkAIBirUYPyIMbWVtYmVycyBsaXN0MAM4AaIBB21lbWJlcnOqAQZ1c2VySWSqAQh1c2VybmFtZaoBBWVtYWlsqgEEcm9sZYLT5JMCGhIYL3RlYW1zL3t0ZWFtX2lkfS9tZW1iZXJzEsEBChBVcGRhdGVNZW1iZXJSb2xlEiUuc3ZjLnRlYW1zLnYxLlVwZGF0ZU1lbWJlclJvbGVSZXF1ZXN0GhQuc3ZjLnRlYW1zLnYxLk1lbWJlciJwirUYPxIHdGVhbV9pZBIHdXNlcl9pZBIEcm9sZSIQbWVtYmVycyBzZXQtcm9sZSoHdXNlcl9pZCoEcm9sZTADOAJQAYLT5JMCJzoBKjIiL3RlYW1zL3t0ZWFtX2lkfS9tZW1iZXJzL3t1c2VyX2lkfRKgAQoMUmVtb3ZlTWVtYmVyEiEuc3ZjLnRlYW1zLnYxLlJlbW92ZU1lbWJlclJlcXVlc3QaIi5zdmMudGVhbXMudjEuUmVtb3ZlTWVtYmVyUmVzcG9uc2UiSYq1GBsiDm1lbWJlcnMgcmVtb3ZlMAM4AlABWMwBcAGC0+STAiQqIi90ZWFtcy97dGVhbV9pZH0vbWVtYmVycy97dXNlcl9pZH0StwEKC0xpc3RJbnZpdGVzEiAuc3ZjLnRlYW1zLnYxLkxpc3RJbnZpdGVzUmVxdWVzdBohLnN2Yy50ZWFtcy52MS5MaXN0SW52aXRlc1Jlc3BvbnNlImOQAgGKtRg8IgxpbnZpdGVzIGxpc3QwAzgCogEHaW52aXRlc6oBAmlkqgEFZW1haWyqAQRyb2xlqgEJZXhwaXJlc0F0gtPkkwIaEhgvdGVhbXMve3RlYW1faWR9L2ludml0ZXMSugEKDEludml0ZU1lbWJlchIhLnN2Yy50ZWFtcy52MS5JbnZpdGVNZW1iZXJSZXF1ZXN0GiIuc3ZjLnRlYW1zLnYxLkludml0ZU1lbWJlclJlc3BvbnNlImOKtRg8Egd0ZWFtX2lkEgVlbWFpbBIEcm9sZRoEcm9sZSIOaW52aXRlcyBjcmVhdGUqBWVtYWlsMAM4AlAEWMkBgtPkkwIdOgEqIhgvdGVhbXMve3RlYW1faWR9L2ludml0ZXMSoAEKDFJldm9rZUludml0ZRIhLnN2Yy50ZWFtcy52MS5SZXZva2VJbnZpdGVSZXF1ZXN0GiIuc3ZjLnRlYW1zLnYxLlJldm9rZUludml0ZVJlc3BvbnNlIkmKtRgZIg5pbnZpdGVzIHJldm9rZTADOAJQAVjMAYLT5JMCJiokL3RlYW1zL3t0ZWFtX2lkfS9pbnZpdGVzL3tpbnZpdGVfaWR9Ep8BCgxBY2NlcHRJbnZpdGUSIS5zdmMudGVhbXMudjEuQWNjZXB0SW52aXRlUmVxdWVzdBoiLnN2Yy50ZWFtcy52MS5BY2NlcHRJbnZpdGVSZXNwb25zZSJIirUYKhIFdG9rZW4iDmludml0ZXMgYWNjZXB0KgV0b2tlbjACUASKAQVsb2dpboLT5JMCFDoBKiIPL2ludml0ZXMvYWNjZXB0GjSKtRgwCgV0ZWFtcxIFdGVhbXMaHlRlYW1zLCBtZW1iZXJzIGFuZCBpbnZpdGF0aW9ucygBMvABChFBZG1pblRlYW1zU2VydmljZRKbAQoJU2V0UmVnaW9uEh4uc3ZjLnRlYW1zLnYxLlNldFJlZ2lvblJlcXVlc3QaEi5zdmMudGVhbXMudjEuVGVhbSJairUYLhIHdGVhbV9pZBIJcmVnaW9uX2lkKgd0ZWFtX2lkKglyZWdpb25faWQwBTgMUAGC0+STAiI6ASoaHS9hZG1pbi90ZWFtcy97dGVhbV9pZH0vcmVnaW9uGj2KtRg5CgphZG1pblRlYW1zEgthZG1pbi10ZWFtcxocU3RhZmY6IHRlYW1zIG9mIHRoZSBwbGF0Zm9ybSgBYgZwcm90bzM", [file_buf_validate_validate2, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp2, file_svc_options_v1_options, file_svc_regions_v1_regions]);
var TeamsService = /* @__PURE__ */ serviceDesc3(file_svc_teams_v1_teams, 0);
var AdminTeamsService = /* @__PURE__ */ serviceDesc3(file_svc_teams_v1_teams, 1);

// proto/gen/svc/apikeys/v1/apikeys_pb.ts
import { fileDesc as fileDesc8, messageDesc as messageDesc6, serviceDesc as serviceDesc4 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate3 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp3 } from "@bufbuild/protobuf/wkt";
var file_svc_apikeys_v1_apikeys = /* @__PURE__ */ fileDesc8("ChxzdmMvYXBpa2V5cy92MS9hcGlrZXlzLnByb3RvEg5zdmMuYXBpa2V5cy52MSKUAwoGQXBpS2V5Eg8KAmlkGAEgASgJQgPgQQMSEQoEbmFtZRgCIAEoCUID4EEDEhMKBnByZWZpeBgDIAEoCUID4EEDEioKBnNjb3BlcxgEIAMoDjIVLnN2Yy5vcHRpb25zLnYxLlNjb3BlQgPgQQMSGQoHdGVhbV9pZBgFIAEoCUID4EEDSACIAQESMwoKY3JlYXRlZF9hdBgGIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxIzCgpleHBpcmVzX2F0GAcgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDEjoKDGxhc3RfdXNlZF9hdBgIIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBA0gBiAEBEjgKCnJldm9rZWRfYXQYCSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNIAogBAUIKCghfdGVhbV9pZEIPCg1fbGFzdF91c2VkX2F0Qg0KC19yZXZva2VkX2F0Ig0KC0xpc3RSZXF1ZXN0Ij0KDExpc3RSZXNwb25zZRItCghhcGlfa2V5cxgBIAMoCzIWLnN2Yy5hcGlrZXlzLnYxLkFwaUtleUID4EEDIucBCg1DcmVhdGVSZXF1ZXN0EhoKBG5hbWUYASABKAlCDOBBArpIBnIEEAEYZBJFCgZzY29wZXMYAiADKA4yFS5zdmMub3B0aW9ucy52MS5TY29wZUIeukgQkgENECAYASIHggEEEAEgAIq1GAcSBXNjb3BlEikKB3RlYW1faWQYAyABKAlCE7pIBnIEEAEYKIq1GAYSBHRlYW1IAIgBARIoCg9leHBpcmVzX2luX2RheXMYBCABKA1CCrpIByoFGO0CKAFIAYgBAUIKCghfdGVhbV9pZEISChBfZXhwaXJlc19pbl9kYXlzIlkKDkNyZWF0ZVJlc3BvbnNlEiwKB2FwaV9rZXkYASABKAsyFi5zdmMuYXBpa2V5cy52MS5BcGlLZXlCA+BBAxIZCgZzZWNyZXQYAiABKAlCCeBBA4q1GAIIASIoCg1SZXZva2VSZXF1ZXN0EhcKCmFwaV9rZXlfaWQYASABKAlCA+BBAiIQCg5SZXZva2VSZXNwb25zZTKTBQoOQXBpS2V5c1NlcnZpY2USqwEKBExpc3QSGy5zdmMuYXBpa2V5cy52MS5MaXN0UmVxdWVzdBocLnN2Yy5hcGlrZXlzLnYxLkxpc3RSZXNwb25zZSJokAIBirUYUDADogEIYXBpX2tleXOqAQJpZKoBBG5hbWWqAQZwcmVmaXiqAQZzY29wZXOqAQlleHBpcmVzQXSqAQpsYXN0VXNlZEF0qgEJcmV2b2tlZEF0gtPkkwILEgkvYXBpLWtleXMSrgIKBkNyZWF0ZRIdLnN2Yy5hcGlrZXlzLnYxLkNyZWF0ZVJlcXVlc3QaHi5zdmMuYXBpa2V5cy52MS5DcmVhdGVSZXNwb25zZSLkAYq1GMsBEgRuYW1lKgRuYW1lMANQBFjJAZoBtAEKKkEga2V5IGZvciBDSSBqb2JzIG9mIG9uZSB0ZWFtLCBmb3IgMzAgZGF5cxJDa2V5cyBjcmVhdGUgY2kgLS1zY29wZSBjaTp3cml0ZSAtLXRlYW0gdGVhbV8wMSAtLWV4cGlyZXMtaW4tZGF5cyAzMBpBYXBpS2V5cy5jcmVhdGUoJ2NpJywgeyBzY29wZXM6IFsnY2k6d3JpdGUnXSwgZXhwaXJlc0luRGF5czogMzAgfSmC0+STAg46ASoiCS9hcGkta2V5cxJ0CgZSZXZva2USHS5zdmMuYXBpa2V5cy52MS5SZXZva2VSZXF1ZXN0Gh4uc3ZjLmFwaWtleXMudjEuUmV2b2tlUmVzcG9uc2UiK4q1GAkwA1ADWMwBcAGC0+STAhgqFi9hcGkta2V5cy97YXBpX2tleV9pZH0aLIq1GCgKB2FwaUtleXMSBGtleXMaFUFQSSBrZXlzIGZvciBwcm9ncmFtcygBYgZwcm90bzM", [file_buf_validate_validate3, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp3, file_svc_options_v1_options]);
var ApiKeysService = /* @__PURE__ */ serviceDesc4(file_svc_apikeys_v1_apikeys, 0);

// proto/gen/svc/auth/v1/auth_pb.ts
import { fileDesc as fileDesc9, messageDesc as messageDesc7, serviceDesc as serviceDesc5 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate4 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp4 } from "@bufbuild/protobuf/wkt";
var file_svc_auth_v1_auth = /* @__PURE__ */ fileDesc9("ChZzdmMvYXV0aC92MS9hdXRoLnByb3RvEgtzdmMuYXV0aC52MSKKAQoMTG9naW5SZXF1ZXN0EhwKBWVtYWlsGAEgASgJQg3gQQK6SAdyBRADGP4BEiUKCHBhc3N3b3JkGAIgASgJQhPgQQK6SAdyBRABKIACirUYAggBEicKCXRvdHBfY29kZRgDIAEoCUIPukgGcgQQBhggirUYAggBSACIAQFCDAoKX3RvdHBfY29kZSJ0Cg1Mb2dpblJlc3BvbnNlEhgKBXRva2VuGAEgASgJQgngQQOKtRgCCAESMwoKZXhwaXJlc19hdBgCIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxIUCgd1c2VyX2lkGAMgASgJQgPgQQMiDwoNTG9nb3V0UmVxdWVzdCIQCg5Mb2dvdXRSZXNwb25zZTKWAgoLQXV0aFNlcnZpY2USfgoFTG9naW4SGS5zdmMuYXV0aC52MS5Mb2dpblJlcXVlc3QaGi5zdmMuYXV0aC52MS5Mb2dpblJlc3BvbnNlIj6KtRgkEgVlbWFpbBIIcGFzc3dvcmQiAS0wAVAEgAGAIIoBBWxvZ2lugtPkkwIQOgEqIgsvYXV0aC9sb2dpbhJoCgZMb2dvdXQSGi5zdmMuYXV0aC52MS5Mb2dvdXRSZXF1ZXN0Ghsuc3ZjLmF1dGgudjEuTG9nb3V0UmVzcG9uc2UiJYq1GAoiAS0wBFADWMwBgtPkkwIROgEqIgwvYXV0aC9sb2dvdXQaHYq1GBkKBGF1dGgaD1NpZ24gaW4gYW5kIG91dCgBYgZwcm90bzM", [file_buf_validate_validate4, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp4, file_svc_options_v1_options]);
var AuthService = /* @__PURE__ */ serviceDesc5(file_svc_auth_v1_auth, 0);

// proto/gen/svc/dispatch/v1/dispatch_pb.ts
import { enumDesc as enumDesc9, fileDesc as fileDesc13, messageDesc as messageDesc11, serviceDesc as serviceDesc9 } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp8 } from "@bufbuild/protobuf/wkt";

// proto/gen/svc/runner/v1/runner_pb.ts
import { enumDesc as enumDesc8, fileDesc as fileDesc12, messageDesc as messageDesc10, serviceDesc as serviceDesc8 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate7 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp7 } from "@bufbuild/protobuf/wkt";

// proto/gen/svc/runners/v1/runners_pb.ts
import { enumDesc as enumDesc6, fileDesc as fileDesc10, messageDesc as messageDesc8, serviceDesc as serviceDesc6 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate5 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp5 } from "@bufbuild/protobuf/wkt";
var file_svc_runners_v1_runners = /* @__PURE__ */ fileDesc10("ChxzdmMvcnVubmVycy92MS9ydW5uZXJzLnByb3RvEg5zdmMucnVubmVycy52MSKSBwoGUnVubmVyEg8KAmlkGAEgASgJQgPgQQMSFAoHdGVhbV9pZBgCIAEoCUID4EEDEhEKBG5hbWUYAyABKAlCA+BBAxIrCgZoZWFsdGgYBCABKA4yFi5zdmMucnVubmVycy52MS5IZWFsdGhCA+BBAxI3CgZsYWJlbHMYBSADKAsyIi5zdmMucnVubmVycy52MS5SdW5uZXIuTGFiZWxzRW50cnlCA+BBAxITCgZsZWFzZXMYBiABKA1CA+BBAxIUCgdzdHJpa2VzGAcgASgNQgPgQQMSFAoHZmxhZ2dlZBgIIAEoCEID4EEDEhYKCW5vdF9yZWFkeRgJIAMoCUID4EEDEhQKB3ZlcnNpb24YCiABKAlCA+BBAxIWCglpc29sYXRpb24YCyABKAlCA+BBAxI0CgtlbnJvbGxlZF9hdBgMIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxI/ChFsYXN0X2hlYXJ0YmVhdF9hdBgNIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBA0gAiAEBEjoKDGxhc3Rfc2Vlbl9hdBgOIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBA0gBiAEBEjcKCXBhdXNlZF9hdBgPIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBA0gCiAEBEjoKDHBhdXNlZF91bnRpbBgQIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBA0gDiAEBEhwKCnBhdXNlX25vdGUYESABKAlCA+BBA0gEiAEBEjgKCnJldm9rZWRfYXQYEiABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNIBYgBARI+CgtkaWFnbm9zdGljcxgTIAEoCzIfLnN2Yy5ydW5uZXJzLnYxLlNlbGZEaWFnbm9zdGljc0ID4EEDSAaIAQEaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUIUChJfbGFzdF9oZWFydGJlYXRfYXRCDwoNX2xhc3Rfc2Vlbl9hdEIMCgpfcGF1c2VkX2F0Qg8KDV9wYXVzZWRfdW50aWxCDQoLX3BhdXNlX25vdGVCDQoLX3Jldm9rZWRfYXRCDgoMX2RpYWdub3N0aWNzIqgBCg9TZWxmRGlhZ25vc3RpY3MSJwoVY29udGFpbmVyX2NsaV92ZXJzaW9uGAEgASgJQgi6SAVyAxjIARIkChJkZXBsb3lfY2xpX3ZlcnNpb24YAiABKAlCCLpIBXIDGMgBEhkKEXdvcmtzcGFjZV9mcmVlX21iGAMgASgNEisKAmF0GAQgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDIl8KC0xpc3RSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SHAoPaW5jbHVkZV9yZXZva2VkGAIgASgISACIAQFCEgoQX2luY2x1ZGVfcmV2b2tlZCI8CgxMaXN0UmVzcG9uc2USLAoHcnVubmVycxgBIAMoCzIWLnN2Yy5ydW5uZXJzLnYxLlJ1bm5lckID4EEDIkQKCkdldFJlcXVlc3QSHgoHdGVhbV9pZBgBIAEoCUIN4EECirUYBhIEdGVhbRIWCglydW5uZXJfaWQYAiABKAlCA+BBAiI6ChhDcmVhdGVFbnJvbGxUb2tlblJlcXVlc3QSHgoHdGVhbV9pZBgBIAEoCUIN4EECirUYBhIEdGVhbSJqChlDcmVhdGVFbnJvbGxUb2tlblJlc3BvbnNlEhgKBXRva2VuGAEgASgJQgngQQOKtRgCCAESMwoKZXhwaXJlc19hdBgCIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAyJHCg1SZXZva2VSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SFgoJcnVubmVyX2lkGAIgASgJQgPgQQIiEAoOUmV2b2tlUmVzcG9uc2UiTQoPRGlhZ25vc2VSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SEQoEbGl2ZRgCIAEoCEgAiAEBQgcKBV9saXZlIqYDChBEaWFnbm9zZVJlc3BvbnNlEjUKDGdlbmVyYXRlZF9hdBgBIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxIsCgdydW5uZXJzGAIgAygLMhYuc3ZjLnJ1bm5lcnMudjEuUnVubmVyQgPgQQMSGAoLbGl2ZV9sZWFzZXMYAyABKA1CA+BBAxIbCg5leHBpcmVkX2xlYXNlcxgEIAEoDUID4EEDEhMKBnF1ZXVlZBgFIAEoDUID4EEDEjAKBmV2ZW50cxgGIAMoCzIbLnN2Yy5ydW5uZXJzLnYxLlJ1bm5lckV2ZW50QgPgQQMSSQoKY29uZmlndXJlZBgHIAMoCzIwLnN2Yy5ydW5uZXJzLnYxLkRpYWdub3NlUmVzcG9uc2UuQ29uZmlndXJlZEVudHJ5QgPgQQMSHwoNbGl2ZV9hbnN3ZXJlZBgIIAEoCEID4EEDSACIAQEaMQoPQ29uZmlndXJlZEVudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCDoCOAFCEAoOX2xpdmVfYW5zd2VyZWQiegoLUnVubmVyRXZlbnQSKwoCYXQYASABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQMSFgoJcnVubmVyX2lkGAIgASgJQgPgQQMSEQoEa2luZBgDIAEoCUID4EEDEhMKBmRldGFpbBgEIAEoCUID4EEDIlQKGkNsZWFyRGl2ZXJnZW5jZUZsYWdSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SFgoJcnVubmVyX2lkGAIgASgJQgPgQQIiUwoZUmVxdWVzdERpYWdub3N0aWNzUmVxdWVzdBIeCgd0ZWFtX2lkGAEgASgJQg3gQQKKtRgGEgR0ZWFtEhYKCXJ1bm5lcl9pZBgCIAEoCUID4EECIpoBCgxQYXVzZVJlcXVlc3QSHgoHdGVhbV9pZBgBIAEoCUIN4EECirUYBhIEdGVhbRIWCglydW5uZXJfaWQYAiABKAlCA+BBAhIbCgRub3RlGAMgASgJQgi6SAVyAxj0A0gAiAEBEiAKB21pbnV0ZXMYBCABKA1CCrpIByoFGOBOKAFIAYgBAUIHCgVfbm90ZUIKCghfbWludXRlcyJHCg1SZXN1bWVSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SFgoJcnVubmVyX2lkGAIgASgJQgPgQQIqwQEKBkhlYWx0aBIWChJIRUFMVEhfVU5TUEVDSUZJRUQQABIVChFIRUFMVEhfTkVWRVJfU0VFThABEg8KC0hFQUxUSF9MSVZFEAISEQoNSEVBTFRIX1NJTEVOVBADEhMKD0hFQUxUSF9EUkFJTklORxAEEhEKDUhFQUxUSF9QQVVTRUQQBRIUChBIRUFMVEhfTk9UX1JFQURZEAYSEgoOSEVBTFRIX0ZMQUdHRUQQBxISCg5IRUFMVEhfUkVWT0tFRBAIMo4MCg5SdW5uZXJzU2VydmljZRKyAQoETGlzdBIbLnN2Yy5ydW5uZXJzLnYxLkxpc3RSZXF1ZXN0Ghwuc3ZjLnJ1bm5lcnMudjEuTGlzdFJlc3BvbnNlIm+QAgGKtRhIMAM4B6IBB3J1bm5lcnOqAQJpZKoBBG5hbWWqAQZoZWFsdGiqAQZsZWFzZXOqAQ9sYXN0SGVhcnRiZWF0QXSqAQd2ZXJzaW9ugtPkkwIaEhgvdGVhbXMve3RlYW1faWR9L3J1bm5lcnMSegoDR2V0Ehouc3ZjLnJ1bm5lcnMudjEuR2V0UmVxdWVzdBoWLnN2Yy5ydW5uZXJzLnYxLlJ1bm5lciI/kAIBirUYDCIGc3RhdHVzMAM4B4LT5JMCJhIkL3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL3tydW5uZXJfaWR9EpQCChFDcmVhdGVFbnJvbGxUb2tlbhIoLnN2Yy5ydW5uZXJzLnYxLkNyZWF0ZUVucm9sbFRva2VuUmVxdWVzdBopLnN2Yy5ydW5uZXJzLnYxLkNyZWF0ZUVucm9sbFRva2VuUmVzcG9uc2UiqQGKtRh0IgZlbnJvbGwwAzgIUARYyQGaAWAKGUEgdG9rZW4gZm9yIGEgbmV3IG1hY2hpbmUSHXJ1bm5lcnMgZW5yb2xsIC0tdGVhbSB0ZWFtXzAxGiRydW5uZXJzLmNyZWF0ZUVucm9sbFRva2VuKCd0ZWFtXzAxJymC0+STAis6ASoiJi90ZWFtcy97dGVhbV9pZH0vcnVubmVycy9lbnJvbGwtdG9rZW5zEoQBCgZSZXZva2USHS5zdmMucnVubmVycy52MS5SZXZva2VSZXF1ZXN0Gh4uc3ZjLnJ1bm5lcnMudjEuUmV2b2tlUmVzcG9uc2UiO4q1GAswAzgIUANYzAFwAYLT5JMCJiokL3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL3tydW5uZXJfaWR9EocBCghEaWFnbm9zZRIfLnN2Yy5ydW5uZXJzLnYxLkRpYWdub3NlUmVxdWVzdBogLnN2Yy5ydW5uZXJzLnYxLkRpYWdub3NlUmVzcG9uc2UiOJACAYq1GAgwAzgHeMjfAoLT5JMCIxIhL3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL2RpYWdub3NlEqwBChNDbGVhckRpdmVyZ2VuY2VGbGFnEiouc3ZjLnJ1bm5lcnMudjEuQ2xlYXJEaXZlcmdlbmNlRmxhZ1JlcXVlc3QaFi5zdmMucnVubmVycy52MS5SdW5uZXIiUYq1GAgwAzgIQARQAYLT5JMCPzoBKiI6L3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL3tydW5uZXJfaWR9L2NsZWFyLWRpdmVyZ2VuY2UtZmxhZxKpAQoSUmVxdWVzdERpYWdub3N0aWNzEikuc3ZjLnJ1bm5lcnMudjEuUmVxdWVzdERpYWdub3N0aWNzUmVxdWVzdBoWLnN2Yy5ydW5uZXJzLnYxLlJ1bm5lciJQirUYCTADOAhQAVjKAYLT5JMCPToBKiI4L3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL3tydW5uZXJfaWR9L3JlcXVlc3QtZGlhZ25vc3RpY3MSfgoFUGF1c2USHC5zdmMucnVubmVycy52MS5QYXVzZVJlcXVlc3QaFi5zdmMucnVubmVycy52MS5SdW5uZXIiP4q1GAYwAzgIUAGC0+STAi86ASoiKi90ZWFtcy97dGVhbV9pZH0vcnVubmVycy97cnVubmVyX2lkfS9wYXVzZRKBAQoGUmVzdW1lEh0uc3ZjLnJ1bm5lcnMudjEuUmVzdW1lUmVxdWVzdBoWLnN2Yy5ydW5uZXJzLnYxLlJ1bm5lciJAirUYBjADOAhQAYLT5JMCMDoBKiIrL3RlYW1zL3t0ZWFtX2lkfS9ydW5uZXJzL3tydW5uZXJfaWR9L3Jlc3VtZRpEirUYQAoHcnVubmVycxIHcnVubmVycxocUnVubmVycyBvbiB5b3VyIG93biBtYWNoaW5lcyIMaG9zdC5ydW5uZXJzKAFiBnByb3RvMw", [file_buf_validate_validate5, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp5, file_svc_options_v1_options]);
var RunnersService = /* @__PURE__ */ serviceDesc6(file_svc_runners_v1_runners, 0);

// proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts
import { enumDesc as enumDesc7, fileDesc as fileDesc11, messageDesc as messageDesc9, serviceDesc as serviceDesc7 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate6 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp6 } from "@bufbuild/protobuf/wkt";
var file_svc_sandboxruns_v1_sandboxruns = /* @__PURE__ */ fileDesc11("CiRzdmMvc2FuZGJveHJ1bnMvdjEvc2FuZGJveHJ1bnMucHJvdG8SEnN2Yy5zYW5kYm94cnVucy52MSKVAgoGTGltaXRzEikKD3RpbWVvdXRfc2Vjb25kcxgBIAEoDUILukgIKgYYgKMFKAFIAIgBARIjCgltZW1vcnlfbWIYAiABKA1CC7pICCoGGICABCgQSAGIAQESLAoEY3B1cxgDIAEoAUIZukgWEhRAARkAAAAAAABQQCmamZmZmZm5P0gCiAEBEh0KBHBpZHMYBCABKA1CCrpIByoFGIAgKAhIA4gBARIpCgxvdXRwdXRfYnl0ZXMYBSABKA1CDrpICyoJGICAgIABKIAISASIAQFCEgoQX3RpbWVvdXRfc2Vjb25kc0IMCgpfbWVtb3J5X21iQgcKBV9jcHVzQgcKBV9waWRzQg8KDV9vdXRwdXRfYnl0ZXMi0AkKClNhbmRib3hSdW4SDwoCaWQYASABKAlCA+BBAxIUCgd0ZWFtX2lkGAIgASgJQgPgQQMSMQoHcHVycG9zZRgDIAEoDjIbLnN2Yy5zYW5kYm94cnVucy52MS5QdXJwb3NlQgPgQQMSMAoFc3RhdGUYBCABKA4yHC5zdmMuc2FuZGJveHJ1bnMudjEuUnVuU3RhdGVCA+BBAxI3CgZyZWFzb24YBSABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuRW5kUmVhc29uQgPgQQNIAIgBARIbCglleGl0X2NvZGUYBiABKAVCA+BBA0gBiAEBEhkKB21lc3NhZ2UYByABKAlCA+BBA0gCiAEBEhcKBWltYWdlGAggASgJQgPgQQNIA4gBARIUCgdjb21tYW5kGAkgAygJQgPgQQMSGQoHd29ya2RpchgKIAEoCUID4EEDSASIAQESFgoJZW52X25hbWVzGAsgAygJQgPgQQMSMQoHbmV0d29yaxgMIAEoDjIbLnN2Yy5zYW5kYm94cnVucy52MS5OZXR3b3JrQgPgQQMSNQoJaXNvbGF0aW9uGA0gASgOMh0uc3ZjLnNhbmRib3hydW5zLnYxLklzb2xhdGlvbkID4EEDEi8KBmxpbWl0cxgOIAEoCzIaLnN2Yy5zYW5kYm94cnVucy52MS5MaW1pdHNCA+BBAxI/CgZsYWJlbHMYDyADKAsyKi5zdmMuc2FuZGJveHJ1bnMudjEuU2FuZGJveFJ1bi5MYWJlbHNFbnRyeUID4EEDEhQKB2F0dGVtcHQYECABKA1CA+BBAxIbCglydW5uZXJfaWQYESABKAlCA+BBA0gFiAEBEh0KC3J1bm5lcl9uYW1lGBIgASgJQgPgQQNIBogBARIzCgpjcmVhdGVkX2F0GBMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDEjgKCmNsYWltZWRfYXQYFCABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNIB4gBARI4CgpzdGFydGVkX2F0GBUgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDSAiIAQESOQoLZmluaXNoZWRfYXQYFiABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQNICYgBARIcCgptZXRlcmVkX21zGBcgASgNQgPgQQNICogBARIiChBzZWxmX3JlcG9ydGVkX21zGBggASgNQgPgQQNIC4gBARIWCglsb2dfYnl0ZXMYGSABKA1CA+BBAxIdChBjYW5jZWxfcmVxdWVzdGVkGBogASgIQgPgQQMaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUIJCgdfcmVhc29uQgwKCl9leGl0X2NvZGVCCgoIX21lc3NhZ2VCCAoGX2ltYWdlQgoKCF93b3JrZGlyQgwKCl9ydW5uZXJfaWRCDgoMX3J1bm5lcl9uYW1lQg0KC19jbGFpbWVkX2F0Qg0KC19zdGFydGVkX2F0Qg4KDF9maW5pc2hlZF9hdEINCgtfbWV0ZXJlZF9tc0ITChFfc2VsZl9yZXBvcnRlZF9tcyKdBwoNQ3JlYXRlUmVxdWVzdBIeCgd0ZWFtX2lkGAEgASgJQg3gQQKKtRgGEgR0ZWFtEj0KB3B1cnBvc2UYAiABKA4yGy5zdmMuc2FuZGJveHJ1bnMudjEuUHVycG9zZUIKukgHggEEEAEgAEgAiAEBEj8KBWltYWdlGAMgASgJQiu6SChyJhABGKwCMh9eW2EtekEtWjAtOV1bYS16QS1aMC05Ll86L0AtXSokSAGIAQESLQoHY29tbWFuZBgEIAMoCUIc4EECukgQkgENCAEQgAIiBnIEKICAAoq1GAI4ARJ/CgNlbnYYBSADKAsyKi5zdmMuc2FuZGJveHJ1bnMudjEuQ3JlYXRlUmVxdWVzdC5FbnZFbnRyeUJGukgymgEvEIABIiJyIDIeXltBLVphLXpfXVtBLVphLXowLTlfXXswLDEyN30kKgZyBCiAgAKKtRgNCAEyCWtleT12YWx1ZRIpCgd3b3JrZGlyGAYgASgJQhO6SBByDhj0AzIJXi9bXlxuXSokSAKIAQESIwoFc3RkaW4YByABKAlCD7pIBnIEKICAEIq1GAIIAUgDiAEBEj0KB25ldHdvcmsYCCABKA4yGy5zdmMuc2FuZGJveHJ1bnMudjEuTmV0d29ya0IKukgHggEEEAEgAEgEiAEBEi8KBmxpbWl0cxgJIAEoCzIaLnN2Yy5zYW5kYm94cnVucy52MS5MaW1pdHNIBYgBARJBCglpc29sYXRpb24YCiABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuSXNvbGF0aW9uQgq6SAeCAQQQASAASAaIAQESjAEKBmxhYmVscxgLIAMoCzItLnN2Yy5zYW5kYm94cnVucy52MS5DcmVhdGVSZXF1ZXN0LkxhYmVsc0VudHJ5Qk26SDSaATEQICImciQyIl5bYS16QS1aMC05XVthLXpBLVowLTkuXy8tXXswLDYyfSQqBXIDGMgBirUYEhIFbGFiZWwyCWtleT12YWx1ZRoqCghFbnZFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCCgoIX3B1cnBvc2VCCAoGX2ltYWdlQgoKCF93b3JrZGlyQggKBl9zdGRpbkIKCghfbmV0d29ya0IJCgdfbGltaXRzQgwKCl9pc29sYXRpb24ixQEKC0xpc3RSZXF1ZXN0Eh4KB3RlYW1faWQYASABKAlCDeBBAoq1GAYSBHRlYW0SQAoFc3RhdGUYAiADKA4yHC5zdmMuc2FuZGJveHJ1bnMudjEuUnVuU3RhdGVCE7pIEJIBDRAHGAEiB4IBBBABIAASHgoFbGltaXQYAyABKA1CCrpIByoFGMgBKAFIAIgBARIfCgZjdXJzb3IYBCABKAlCCrpIB3IFEAEYgARIAYgBAUIICgZfbGltaXRCCQoHX2N1cnNvciJ4CgxMaXN0UmVzcG9uc2USOQoMc2FuZGJveF9ydW5zGAEgAygLMh4uc3ZjLnNhbmRib3hydW5zLnYxLlNhbmRib3hSdW5CA+BBAxIdCgtuZXh0X2N1cnNvchgCIAEoCUID4EEDSACIAQFCDgoMX25leHRfY3Vyc29yIiEKCkdldFJlcXVlc3QSEwoGcnVuX2lkGAEgASgJQgPgQQIiiAEKEVN0cmVhbUxvZ3NSZXF1ZXN0EhMKBnJ1bl9pZBgBIAEoCUID4EECEjQKBWFmdGVyGAIgASgJQiC6SB1yGzIZXlswLTldezEsMTB9LVswLTldezEsMTB9JEgAiAEBEhMKBmZvbGxvdxgDIAEoCEgBiAEBQggKBl9hZnRlckIJCgdfZm9sbG93IqkBCghMb2dFdmVudBIVCghwb3NpdGlvbhgBIAEoCUID4EEDEjIKBnN0cmVhbRgCIAEoDjIdLnN2Yy5zYW5kYm94cnVucy52MS5Mb2dTdHJlYW1CA+BBAxIRCgR0ZXh0GAMgASgJQgPgQQMSEgoFZXBvY2gYBCABKA1CA+BBAxIrCgJhdBgFIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAyIkCg1DYW5jZWxSZXF1ZXN0EhMKBnJ1bl9pZBgBIAEoCUID4EECKjoKB1B1cnBvc2USFwoTUFVSUE9TRV9VTlNQRUNJRklFRBAAEhYKElBVUlBPU0VfQUdFTlRfVEFTSxABKjQKB05ldHdvcmsSFwoTTkVUV09SS19VTlNQRUNJRklFRBAAEhAKDE5FVFdPUktfTk9ORRABKlIKCUlzb2xhdGlvbhIZChVJU09MQVRJT05fVU5TUEVDSUZJRUQQABIRCg1JU09MQVRJT05fQU5ZEAESFwoTSVNPTEFUSU9OX0NPTlRBSU5FUhACKsUBCghSdW5TdGF0ZRIZChVSVU5fU1RBVEVfVU5TUEVDSUZJRUQQABIUChBSVU5fU1RBVEVfUVVFVUVEEAESFQoRUlVOX1NUQVRFX09GRkVSRUQQAhIVChFSVU5fU1RBVEVfUlVOTklORxADEhcKE1JVTl9TVEFURV9TVUNDRUVERUQQBBIUChBSVU5fU1RBVEVfRkFJTEVEEAUSFwoTUlVOX1NUQVRFX0NBTkNFTExFRBAGEhIKDlJVTl9TVEFURV9ERUFEEAcqvQEKCUVuZFJlYXNvbhIaChZFTkRfUkVBU09OX1VOU1BFQ0lGSUVEEAASEwoPRU5EX1JFQVNPTl9FWElUEAESFgoSRU5EX1JFQVNPTl9USU1FT1VUEAISFQoRRU5EX1JFQVNPTl9NRU1PUlkQAxIYChRFTkRfUkVBU09OX0NBTkNFTExFRBAEEhkKFUVORF9SRUFTT05fTEVBU0VfTE9TVBAFEhsKF0VORF9SRUFTT05fRU5HSU5FX0VSUk9SEAYqbAoJTG9nU3RyZWFtEhoKFkxPR19TVFJFQU1fVU5TUEVDSUZJRUQQABIVChFMT0dfU1RSRUFNX1NURE9VVBABEhUKEUxPR19TVFJFQU1fU1RERVJSEAISFQoRTE9HX1NUUkVBTV9SVU5ORVIQAzLYBwoSU2FuZGJveFJ1bnNTZXJ2aWNlEqcCCgZDcmVhdGUSIS5zdmMuc2FuZGJveHJ1bnMudjEuQ3JlYXRlUmVxdWVzdBoeLnN2Yy5zYW5kYm94cnVucy52MS5TYW5kYm94UnVuItkBirUYrAEiBmNyZWF0ZTADOAZQAljJAYoBBnN1Ym1pdJoBjgEKDFByaW50IGEgbGluZRIocnVucyBjcmVhdGUgLS10ZWFtIHRlYW1fMDEgLS0gZWNobyBoZWxsbxpUc2FuZGJveFJ1bnMuY3JlYXRlKCd0ZWFtXzAxJywgeyBwdXJwb3NlOiAnYWdlbnRfdGFzaycsIGNvbW1hbmQ6IFsnZWNobycsICdoZWxsbyddIH0pgtPkkwIiOgEqIh0vdGVhbXMve3RlYW1faWR9L3NhbmRib3gtcnVucxLXAQoETGlzdBIfLnN2Yy5zYW5kYm94cnVucy52MS5MaXN0UmVxdWVzdBogLnN2Yy5zYW5kYm94cnVucy52MS5MaXN0UmVzcG9uc2UiiwGQAgGKtRhfMAM4BWITCgxzYW5kYm94X3J1bnMQMhjIAaoBAmlkqgEFc3RhdGWqAQZyZWFzb26qAQhleGl0Q29kZaoBCnJ1bm5lck5hbWWqAQltZXRlcmVkTXOqAQljcmVhdGVkQXSC0+STAh8SHS90ZWFtcy97dGVhbV9pZH0vc2FuZGJveC1ydW5zEnAKA0dldBIeLnN2Yy5zYW5kYm94cnVucy52MS5HZXRSZXF1ZXN0Gh4uc3ZjLnNhbmRib3hydW5zLnYxLlNhbmRib3hSdW4iKZACAYq1GAQwAzgFgtPkkwIYEhYvc2FuZGJveC1ydW5zL3tydW5faWR9EqEBCgpTdHJlYW1Mb2dzEiUuc3ZjLnNhbmRib3hydW5zLnYxLlN0cmVhbUxvZ3NSZXF1ZXN0Ghwuc3ZjLnNhbmRib3hydW5zLnYxLkxvZ0V2ZW50IkyQAgGKtRgiIgRsb2dzMAM4BWoRCghwb3NpdGlvbhIFYWZ0ZXJ4gLiZKYLT5JMCHRIbL3NhbmRib3gtcnVucy97cnVuX2lkfS9sb2dzMAESfwoGQ2FuY2VsEiEuc3ZjLnNhbmRib3hydW5zLnYxLkNhbmNlbFJlcXVlc3QaHi5zdmMuc2FuZGJveHJ1bnMudjEuU2FuZGJveFJ1biIyirUYBjADOAZQAYLT5JMCIjoBKiIdL3NhbmRib3gtcnVucy97cnVuX2lkfS9jYW5jZWwaJ4q1GCMKC3NhbmRib3hSdW5zEgRydW5zGgxTYW5kYm94IHJ1bnMoAWIGcHJvdG8z", [file_buf_validate_validate6, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp6, file_svc_options_v1_options]);
var SandboxRunSchema = /* @__PURE__ */ messageDesc9(file_svc_sandboxruns_v1_sandboxruns, 1);
var SandboxRunsService = /* @__PURE__ */ serviceDesc7(file_svc_sandboxruns_v1_sandboxruns, 0);

// proto/gen/svc/runner/v1/runner_pb.ts
var file_svc_runner_v1_runner = /* @__PURE__ */ fileDesc12("ChpzdmMvcnVubmVyL3YxL3J1bm5lci5wcm90bxINc3ZjLnJ1bm5lci52MSJJCglJbnRlcnZhbHMSFAoMaGVhcnRiZWF0X21zGAEgASgNEhQKDHBvbGxfd2FpdF9tcxgCIAEoDRIQCghsZWFzZV9tcxgDIAEoDSL3AgoNRW5yb2xsUmVxdWVzdBIiCgV0b2tlbhgBIAEoCUIT4EECukgHcgUQARjIAYq1GAIIARI5CgRuYW1lGAIgASgJQivgQQK6SCVyIzIhXltBLVphLXowLTldW0EtWmEtejAtOS5fLV17MCw2Mn0kEjEKCnB1YmxpY19rZXkYAyABKAlCHeBBArpIF3IVMhNeW0EtWmEtejAtOV8tXXs0M30kEnEKBmxhYmVscxgEIAMoCzIoLnN2Yy5ydW5uZXIudjEuRW5yb2xsUmVxdWVzdC5MYWJlbHNFbnRyeUI3ukg0mgExECAiJnIkMiJeW2EtekEtWjAtOV1bYS16QS1aMC05Ll8vLV17MCw2Mn0kKgVyAxjIARIoCgVmYWN0cxgFIAEoCzIULnN2Yy5ydW5uZXIudjEuRmFjdHNIAIgBARotCgtMYWJlbHNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQggKBl9mYWN0cyKbAQoFRmFjdHMSGAoHdmVyc2lvbhgBIAEoCUIHukgEcgIYZBITCgJvcxgCIAEoCUIHukgEcgIYMhIVCgRhcmNoGAMgASgJQge6SARyAhgyEjEKCWlzb2xhdGlvbhgEIAEoCUIeukgbchlSAFIJY29udGFpbmVyUgpuYW1lc3BhY2VzEhkKCGV4ZWN1dG9yGAUgASgJQge6SARyAhgyIpIBCg5FbnJvbGxSZXNwb25zZRIRCglydW5uZXJfaWQYASABKAkSDwoHdGVhbV9pZBgCIAEoCRIvCgtzZXJ2ZXJfdGltZRgDIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASKwoJaW50ZXJ2YWxzGAQgASgLMhguc3ZjLnJ1bm5lci52MS5JbnRlcnZhbHMiNAoJSGVsZExlYXNlEhgKAmlkGAEgASgJQgzgQQK6SAZyBBABGCgSDQoFZXBvY2gYAiABKA0i1AMKEEhlYXJ0YmVhdFJlcXVlc3QSFgoJcnVubmVyX2lkGAEgASgJQgPgQQISHwoHYm9vdF9pZBgCIAEoCUIJukgGcgQQARhASACIAQESMwoGbGVhc2VzGAMgAygLMhguc3ZjLnJ1bm5lci52MS5IZWxkTGVhc2VCCbpIBpIBAxCAAhI5CgtkaWFnbm9zdGljcxgEIAEoCzIfLnN2Yy5ydW5uZXJzLnYxLlNlbGZEaWFnbm9zdGljc0gBiAEBEhUKCGRyYWluaW5nGAUgASgISAKIAQESKAoFZmFjdHMYBiABKAsyFC5zdmMucnVubmVyLnYxLkZhY3RzSAOIAQESdAoGbGFiZWxzGAcgAygLMisuc3ZjLnJ1bm5lci52MS5IZWFydGJlYXRSZXF1ZXN0LkxhYmVsc0VudHJ5Qje6SDSaATEQICImciQyIl5bYS16QS1aMC05XVthLXpBLVowLTkuXy8tXXswLDYyfSQqBXIDGMgBGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCCgoIX2Jvb3RfaWRCDgoMX2RpYWdub3N0aWNzQgsKCV9kcmFpbmluZ0IICgZfZmFjdHMiZAoLTGVhc2VTdGF0dXMSCgoCaWQYASABKAkSDQoFZXBvY2gYAiABKA0SKAoFc3RhdGUYAyABKA4yGS5zdmMucnVubmVyLnYxLkxlYXNlU3RhdGUSEAoIbGVhc2VfbXMYBCABKA0iRwoKRGlyZWN0aXZlcxIYChBzZW5kX2RpYWdub3N0aWNzGAEgASgIEg4KBnBhdXNlZBgCIAEoCBIPCgdmbGFnZ2VkGAMgASgIIswBChFIZWFydGJlYXRSZXNwb25zZRIqCgZsZWFzZXMYASADKAsyGi5zdmMucnVubmVyLnYxLkxlYXNlU3RhdHVzEi0KCmRpcmVjdGl2ZXMYAiABKAsyGS5zdmMucnVubmVyLnYxLkRpcmVjdGl2ZXMSKwoJaW50ZXJ2YWxzGAMgASgLMhguc3ZjLnJ1bm5lci52MS5JbnRlcnZhbHMSLwoLc2VydmVyX3RpbWUYBCABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wIq8CCgtQb2xsUmVxdWVzdBIWCglydW5uZXJfaWQYASABKAlCA+BBAhIfCgdwb2xsX2lkGAIgASgJQgm6SAZyBBABGEBIAIgBARIfCgd3YWl0X21zGAMgASgNQgm6SAYqBBjQhgNIAYgBARIcCgVzbG90cxgEIAEoDUIIukgFKgMYgAJIAogBARIzCgZsZWFzZXMYBSADKAsyGC5zdmMucnVubmVyLnYxLkhlbGRMZWFzZUIJukgGkgEDEIACEiQKCW5vdF9yZWFkeRgGIAMoCUIRukgOkgELEAoiB3IFEAEYyAESHwoHYm9vdF9pZBgHIAEoCUIJukgGcgQQARhASAOIAQFCCgoIX3BvbGxfaWRCCgoIX3dhaXRfbXNCCAoGX3Nsb3RzQgoKCF9ib290X2lkIkEKDFBvbGxSZXNwb25zZRIpCgNydW4YASABKAsyFy5zdmMucnVubmVyLnYxLlJ1bk9mZmVySACIAQFCBgoEX3J1biJMChFCdWlsZFBvbGxSZXNwb25zZRItCgVidWlsZBgBIAEoCzIZLnN2Yy5ydW5uZXIudjEuQnVpbGRPZmZlckgAiAEBQggKBl9idWlsZCLAAwoIUnVuT2ZmZXISCgoCaWQYASABKAkSEAoIbGVhc2VfaWQYAiABKAkSDQoFZXBvY2gYAyABKA0SEAoIbGVhc2VfbXMYBCABKA0SEgoFaW1hZ2UYBSABKAlIAIgBARIPCgdjb21tYW5kGAYgAygJEjUKA2VudhgHIAMoCzIgLnN2Yy5ydW5uZXIudjEuUnVuT2ZmZXIuRW52RW50cnlCBoq1GAIIARIUCgd3b3JrZGlyGAggASgJSAGIAQESGgoFc3RkaW4YCSABKAlCBoq1GAIIAUgCiAEBEiwKB25ldHdvcmsYCiABKA4yGy5zdmMuc2FuZGJveHJ1bnMudjEuTmV0d29yaxIwCglpc29sYXRpb24YCyABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuSXNvbGF0aW9uEioKBmxpbWl0cxgMIAEoCzIaLnN2Yy5zYW5kYm94cnVucy52MS5MaW1pdHMSDwoHYXR0ZW1wdBgNIAEoDRoqCghFbnZFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQggKBl9pbWFnZUIKCghfd29ya2RpckIICgZfc3RkaW4iSwoKQnVpbGRPZmZlchIKCgJpZBgBIAEoCRIQCghsZWFzZV9pZBgCIAEoCRINCgVlcG9jaBgDIAEoDRIQCghsZWFzZV9tcxgEIAEoDSJmCghMb2dDaHVuaxI8CgZzdHJlYW0YASABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuTG9nU3RyZWFtQg3gQQK6SAeCAQQQASAAEhwKBGRhdGEYAiABKAxCDuBBArpICHoGEAEYgIAQIskBCgtMb2dzUmVxdWVzdBIWCglydW5uZXJfaWQYASABKAlCA+BBAhIYCgJpZBgCIAEoCUIM4EECukgGcgQQARgoEhIKBWVwb2NoGAMgASgNQgPgQQISDgoGb2Zmc2V0GAQgASgNEjIKBmNodW5rcxgFIAMoCzIXLnN2Yy5ydW5uZXIudjEuTG9nQ2h1bmtCCbpIBpIBAxCAIBIoCgNlbmQYBiABKAsyFi5zdmMucnVubmVyLnYxLkxvZ3NFbmRIAIgBAUIGCgRfZW5kIj8KB0xvZ3NFbmQSDQoFYnl0ZXMYASABKA0SJQoGc2hhMjU2GAIgASgJQhW6SBJyEDIOXlswLTlhLWZdezY0fSQiXwoMTG9nc1Jlc3BvbnNlEhMKC25leHRfb2Zmc2V0GAEgASgNEhAKCGNvbXBsZXRlGAIgASgIEigKBXN0YXRlGAMgASgOMhkuc3ZjLnJ1bm5lci52MS5MZWFzZVN0YXRlIuICCg1SZXBvcnRSZXF1ZXN0EhYKCXJ1bm5lcl9pZBgBIAEoCUID4EECEhgKAmlkGAIgASgJQgzgQQK6SAZyBBABGCgSEgoFZXBvY2gYAyABKA1CA+BBAhIfCglyZXBvcnRfaWQYBCABKAlCDOBBArpIBnIEEAgYQBI8CgZyZWFzb24YBSABKA4yHS5zdmMuc2FuZGJveHJ1bnMudjEuRW5kUmVhc29uQg3gQQK6SAeCAQQQASAAEiIKCWV4aXRfY29kZRgGIAEoBUIKukgHGgUY/wEoAEgAiAEBEh4KB21lc3NhZ2UYByABKAlCCLpIBXIDGNAPSAGIAQESGAoLZHVyYXRpb25fbXMYCCABKA1IAogBARIWCgl3YWl0ZWRfbXMYCSABKA1IA4gBAUIMCgpfZXhpdF9jb2RlQgoKCF9tZXNzYWdlQg4KDF9kdXJhdGlvbl9tc0IMCgpfd2FpdGVkX21zIjQKDlJlcG9ydFJlc3BvbnNlEhAKCGFjY2VwdGVkGAEgASgIEhAKCHJlcGVhdGVkGAIgASgIKnQKCkxlYXNlU3RhdGUSGwoXTEVBU0VfU1RBVEVfVU5TUEVDSUZJRUQQABISCg5MRUFTRV9TVEFURV9PSxABEhkKFUxFQVNFX1NUQVRFX0NBTkNFTExFRBACEhoKFkxFQVNFX1NUQVRFX1NVUEVSU0VERUQQAzL6CAoNUnVubmVyU2VydmljZRJ5CgZFbnJvbGwSHC5zdmMucnVubmVyLnYxLkVucm9sbFJlcXVlc3QaHS5zdmMucnVubmVyLnYxLkVucm9sbFJlc3BvbnNlIjKKtRgUMAZQA1jJAYABgIABigEFbG9naW6C0+STAhQ6ASoiDy9ydW5uZXJzL2Vucm9sbBKQAQoJSGVhcnRiZWF0Eh8uc3ZjLnJ1bm5lci52MS5IZWFydGJlYXRSZXF1ZXN0GiAuc3ZjLnJ1bm5lci52MS5IZWFydGJlYXRSZXNwb25zZSJAirUYEzAHUAOAAYCAEIoBB21hY2hpbmWC0+STAiM6ASoiHi9ydW5uZXJzL3tydW5uZXJfaWR9L2hlYXJ0YmVhdBKAAQoEUG9sbBIaLnN2Yy5ydW5uZXIudjEuUG9sbFJlcXVlc3QaGy5zdmMucnVubmVyLnYxLlBvbGxSZXNwb25zZSI/irUYFzAHUAN44NQDgAGAgBCKAQdtYWNoaW5lgtPkkwIeOgEqIhkvcnVubmVycy97cnVubmVyX2lkfS9wb2xsEnwKBExvZ3MSGi5zdmMucnVubmVyLnYxLkxvZ3NSZXF1ZXN0Ghsuc3ZjLnJ1bm5lci52MS5Mb2dzUmVzcG9uc2UiO4q1GBMwB1ADgAGAgBiKAQdtYWNoaW5lgtPkkwIeOgEqIhkvcnVubmVycy97cnVubmVyX2lkfS9sb2dzEoQBCgZSZXBvcnQSHC5zdmMucnVubmVyLnYxLlJlcG9ydFJlcXVlc3QaHS5zdmMucnVubmVyLnYxLlJlcG9ydFJlc3BvbnNlIj2KtRgTMAdQA4ABgIAEigEHbWFjaGluZYLT5JMCIDoBKiIbL3J1bm5lcnMve3J1bm5lcl9pZH0vcmVwb3J0EpABCglCdWlsZFBvbGwSGi5zdmMucnVubmVyLnYxLlBvbGxSZXF1ZXN0GiAuc3ZjLnJ1bm5lci52MS5CdWlsZFBvbGxSZXNwb25zZSJFirUYFzAHUAN44NQDgAGAgBCKAQdtYWNoaW5lgtPkkwIkOgEqIh8vcnVubmVycy97cnVubmVyX2lkfS9idWlsZC1wb2xsEocBCglCdWlsZExvZ3MSGi5zdmMucnVubmVyLnYxLkxvZ3NSZXF1ZXN0Ghsuc3ZjLnJ1bm5lci52MS5Mb2dzUmVzcG9uc2UiQYq1GBMwB1ADgAGAgBiKAQdtYWNoaW5lgtPkkwIkOgEqIh8vcnVubmVycy97cnVubmVyX2lkfS9idWlsZC1sb2dzEo8BCgtCdWlsZFJlcG9ydBIcLnN2Yy5ydW5uZXIudjEuUmVwb3J0UmVxdWVzdBodLnN2Yy5ydW5uZXIudjEuUmVwb3J0UmVzcG9uc2UiQ4q1GBMwB1ADgAGAgASKAQdtYWNoaW5lgtPkkwImOgEqIiEvcnVubmVycy97cnVubmVyX2lkfS9idWlsZC1yZXBvcnQaJIq1GCAaDlJ1bm5lciBkYWVtb25zIgxob3N0LnJ1bm5lcnMoAmIGcHJvdG8z", [file_buf_validate_validate7, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp7, file_svc_options_v1_options, file_svc_runners_v1_runners, file_svc_sandboxruns_v1_sandboxruns]);
var RunnerService = /* @__PURE__ */ serviceDesc8(file_svc_runner_v1_runner, 0);

// proto/gen/svc/dispatch/v1/dispatch_pb.ts
var file_svc_dispatch_v1_dispatch = /* @__PURE__ */ fileDesc13("Ch5zdmMvZGlzcGF0Y2gvdjEvZGlzcGF0Y2gucHJvdG8SD3N2Yy5kaXNwYXRjaC52MSI9CgZDYWxsZXISEQoJcnVubmVyX2lkGAEgASgJEg8KB3RlYW1faWQYAiABKAkSDwoHYm9vdF9pZBgDIAEoCSIjChFSZXNvbHZlS2V5UmVxdWVzdBIOCgZrZXlfaWQYASABKAkibAoSUmVzb2x2ZUtleVJlc3BvbnNlEg0KBWtub3duGAEgASgIEhEKCXJ1bm5lcl9pZBgCIAEoCRIPCgd0ZWFtX2lkGAMgASgJEhIKCnB1YmxpY19rZXkYBCABKAwSDwoHcmV2b2tlZBgFIAEoCCJdCg9Vc2VOb25jZVJlcXVlc3QSDgoGa2V5X2lkGAEgASgJEg0KBW5vbmNlGAIgASgJEisKB2NyZWF0ZWQYAyABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wIiEKEFVzZU5vbmNlUmVzcG9uc2USDQoFZnJlc2gYASABKAgiwQEKEEJlZ2luUG9sbFJlcXVlc3QSJwoGY2FsbGVyGAEgASgLMhcuc3ZjLmRpc3BhdGNoLnYxLkNhbGxlchInCgRraW5kGAIgASgOMhkuc3ZjLmRpc3BhdGNoLnYxLldvcmtLaW5kEg8KB3BvbGxfaWQYAyABKAkSDQoFc2xvdHMYBCABKA0SEQoJbm90X3JlYWR5GAUgAygJEigKBmxlYXNlcxgGIAMoCzIYLnN2Yy5ydW5uZXIudjEuSGVsZExlYXNlIn0KEUJlZ2luUG9sbFJlc3BvbnNlEhMKC21heV9yZWNlaXZlGAEgASgIEgwKBGhvbGQYAiABKAgSDwoHcG9vbF9pZBgDIAEoCRIqCgVvZmZlchgEIAEoCzIWLnN2Yy5kaXNwYXRjaC52MS5PZmZlckgAiAEBQggKBl9vZmZlciKTAQoMQ2xhaW1SZXF1ZXN0EicKBmNhbGxlchgBIAEoCzIXLnN2Yy5kaXNwYXRjaC52MS5DYWxsZXISJwoEa2luZBgCIAEoDjIZLnN2Yy5kaXNwYXRjaC52MS5Xb3JrS2luZBIPCgdwb2xsX2lkGAMgASgJEg8KB3dvcmtfaWQYBCABKAkSDwoHcG9vbF9pZBgFIAEoCSJFCg1DbGFpbVJlc3BvbnNlEioKBW9mZmVyGAEgASgLMhYuc3ZjLmRpc3BhdGNoLnYxLk9mZmVySACIAQFCCAoGX29mZmVyImMKBU9mZmVyEiYKA3J1bhgBIAEoCzIXLnN2Yy5ydW5uZXIudjEuUnVuT2ZmZXJIABIqCgVidWlsZBgCIAEoCzIZLnN2Yy5ydW5uZXIudjEuQnVpbGRPZmZlckgAQgYKBHdvcmsiJAoRUmV0dXJuSGludFJlcXVlc3QSDwoHd29ya19pZBgBIAEoCSIUChJSZXR1cm5IaW50UmVzcG9uc2UibwoQSGVhcnRiZWF0UmVxdWVzdBInCgZjYWxsZXIYASABKAsyFy5zdmMuZGlzcGF0Y2gudjEuQ2FsbGVyEjIKCWhlYXJ0YmVhdBgCIAEoCzIfLnN2Yy5ydW5uZXIudjEuSGVhcnRiZWF0UmVxdWVzdCKPAQoRQXBwZW5kTG9nc1JlcXVlc3QSJwoGY2FsbGVyGAEgASgLMhcuc3ZjLmRpc3BhdGNoLnYxLkNhbGxlchInCgRraW5kGAIgASgOMhkuc3ZjLmRpc3BhdGNoLnYxLldvcmtLaW5kEigKBGxvZ3MYAyABKAsyGi5zdmMucnVubmVyLnYxLkxvZ3NSZXF1ZXN0Io8BCg1SZXBvcnRSZXF1ZXN0EicKBmNhbGxlchgBIAEoCzIXLnN2Yy5kaXNwYXRjaC52MS5DYWxsZXISJwoEa2luZBgCIAEoDjIZLnN2Yy5kaXNwYXRjaC52MS5Xb3JrS2luZBIsCgZyZXBvcnQYAyABKAsyHC5zdmMucnVubmVyLnYxLlJlcG9ydFJlcXVlc3QqTQoIV29ya0tpbmQSGQoVV09SS19LSU5EX1VOU1BFQ0lGSUVEEAASEQoNV09SS19LSU5EX1JVThABEhMKD1dPUktfS0lORF9CVUlMRBACMskGCg9EaXNwYXRjaFNlcnZpY2USXwoKUmVzb2x2ZUtleRIiLnN2Yy5kaXNwYXRjaC52MS5SZXNvbHZlS2V5UmVxdWVzdBojLnN2Yy5kaXNwYXRjaC52MS5SZXNvbHZlS2V5UmVzcG9uc2UiCIq1GAQwCFADElkKCFVzZU5vbmNlEiAuc3ZjLmRpc3BhdGNoLnYxLlVzZU5vbmNlUmVxdWVzdBohLnN2Yy5kaXNwYXRjaC52MS5Vc2VOb25jZVJlc3BvbnNlIgiKtRgEMAhQAxJPCgZFbnJvbGwSHC5zdmMucnVubmVyLnYxLkVucm9sbFJlcXVlc3QaHS5zdmMucnVubmVyLnYxLkVucm9sbFJlc3BvbnNlIgiKtRgEMAhQAxJcCglCZWdpblBvbGwSIS5zdmMuZGlzcGF0Y2gudjEuQmVnaW5Qb2xsUmVxdWVzdBoiLnN2Yy5kaXNwYXRjaC52MS5CZWdpblBvbGxSZXNwb25zZSIIirUYBDAIUAMSUAoFQ2xhaW0SHS5zdmMuZGlzcGF0Y2gudjEuQ2xhaW1SZXF1ZXN0Gh4uc3ZjLmRpc3BhdGNoLnYxLkNsYWltUmVzcG9uc2UiCIq1GAQwCFADEl8KClJldHVybkhpbnQSIi5zdmMuZGlzcGF0Y2gudjEuUmV0dXJuSGludFJlcXVlc3QaIy5zdmMuZGlzcGF0Y2gudjEuUmV0dXJuSGludFJlc3BvbnNlIgiKtRgEMAhQAxJaCglIZWFydGJlYXQSIS5zdmMuZGlzcGF0Y2gudjEuSGVhcnRiZWF0UmVxdWVzdBogLnN2Yy5ydW5uZXIudjEuSGVhcnRiZWF0UmVzcG9uc2UiCIq1GAQwCFADElcKCkFwcGVuZExvZ3MSIi5zdmMuZGlzcGF0Y2gudjEuQXBwZW5kTG9nc1JlcXVlc3QaGy5zdmMucnVubmVyLnYxLkxvZ3NSZXNwb25zZSIIirUYBDAIUAMSUQoGUmVwb3J0Eh4uc3ZjLmRpc3BhdGNoLnYxLlJlcG9ydFJlcXVlc3QaHS5zdmMucnVubmVyLnYxLlJlcG9ydFJlc3BvbnNlIgiKtRgEMAhQAxoQirUYDBoIRGlzcGF0Y2goA2IGcHJvdG8z", [file_google_protobuf_timestamp8, file_svc_options_v1_options, file_svc_runner_v1_runner]);
var DispatchService = /* @__PURE__ */ serviceDesc9(file_svc_dispatch_v1_dispatch, 0);

// proto/gen/svc/environments/v1/environments_pb.ts
import { enumDesc as enumDesc10, fileDesc as fileDesc14, messageDesc as messageDesc12, serviceDesc as serviceDesc10 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate8 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp9 } from "@bufbuild/protobuf/wkt";
var file_svc_environments_v1_environments = /* @__PURE__ */ fileDesc14("CiZzdmMvZW52aXJvbm1lbnRzL3YxL2Vudmlyb25tZW50cy5wcm90bxITc3ZjLmVudmlyb25tZW50cy52MSLeAgoLRW52aXJvbm1lbnQSDwoCaWQYASABKAlCA+BBAxIXCgpwcm9qZWN0X2lkGAIgASgJQgPgQQMSFAoHdGVhbV9pZBgDIAEoCUID4EEDEhEKBG5hbWUYBCABKAlCA+BBAxIcCgpyZXBvc2l0b3J5GAUgASgJQgPgQQNIAIgBARITCgZicmFuY2gYBiABKAlCA+BBAxIXCgpidWlsZF9wYXRoGAcgASgJQgPgQQMSNwoKYnVpbGRfdHlwZRgIIAEoDjIeLnN2Yy5lbnZpcm9ubWVudHMudjEuQnVpbGRUeXBlQgPgQQMSMwoKY3JlYXRlZF9hdBgJIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBCA+BBAxIzCgp1cGRhdGVkX2F0GAogASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEID4EEDQg0KC19yZXBvc2l0b3J5IiYKC0xpc3RSZXF1ZXN0EhcKCnByb2plY3RfaWQYASABKAlCA+BBAiJLCgxMaXN0UmVzcG9uc2USOwoMZW52aXJvbm1lbnRzGAEgAygLMiAuc3ZjLmVudmlyb25tZW50cy52MS5FbnZpcm9ubWVudEID4EEDIikKCkdldFJlcXVlc3QSGwoOZW52aXJvbm1lbnRfaWQYASABKAlCA+BBAiKTAwoNQ3JlYXRlUmVxdWVzdBIXCgpwcm9qZWN0X2lkGAEgASgJQgPgQQISMQoEbmFtZRgCIAEoCUIj4EECukgdchsyGV5bYS16MC05XVthLXowLTktXXswLDYyfSQSQQoKcmVwb3NpdG9yeRgDIAEoCUIoukglciMY9AMyHl4oaHR0cHM6Ly98c3NoOi8vfGdpdEApW15cc10rJEgAiAEBEkEKBmJyYW5jaBgEIAEoCUIsukgpcicQARj0ATIgXlteXHN+Xjo/KlxbXFwtXVteXHN+Xjo/KlxbXFxdKiRIAYgBARIzCgpidWlsZF9wYXRoGAUgASgJQhq6SBdyFRABGPQDMg5eW14vXHNdW15cc10qJEgCiAEBEkMKCmJ1aWxkX3R5cGUYBiABKA4yHi5zdmMuZW52aXJvbm1lbnRzLnYxLkJ1aWxkVHlwZUIKukgHggEEEAEgAEgDiAEBQg0KC19yZXBvc2l0b3J5QgkKB19icmFuY2hCDQoLX2J1aWxkX3BhdGhCDQoLX2J1aWxkX3R5cGUiogMKDVVwZGF0ZVJlcXVlc3QSGwoOZW52aXJvbm1lbnRfaWQYASABKAlCA+BBAhIzCgRuYW1lGAIgASgJQiC6SB1yGzIZXlthLXowLTldW2EtejAtOS1dezAsNjJ9JEgAiAEBEkEKCnJlcG9zaXRvcnkYAyABKAlCKLpIJXIjGPQDMh5eKGh0dHBzOi8vfHNzaDovL3xnaXRAKVteXHNdKyRIAYgBARJBCgZicmFuY2gYBCABKAlCLLpIKXInEAEY9AEyIF5bXlxzfl46PypcW1xcLV1bXlxzfl46PypcW1xcXSokSAKIAQESMwoKYnVpbGRfcGF0aBgFIAEoCUIaukgXchUQARj0AzIOXlteL1xzXVteXHNdKiRIA4gBARJDCgpidWlsZF90eXBlGAYgASgOMh4uc3ZjLmVudmlyb25tZW50cy52MS5CdWlsZFR5cGVCCrpIB4IBBBABIABIBIgBAUIHCgVfbmFtZUINCgtfcmVwb3NpdG9yeUIJCgdfYnJhbmNoQg0KC19idWlsZF9wYXRoQg0KC19idWlsZF90eXBlIiwKDURlbGV0ZVJlcXVlc3QSGwoOZW52aXJvbm1lbnRfaWQYASABKAlCA+BBAiIQCg5EZWxldGVSZXNwb25zZSpxCglCdWlsZFR5cGUSGgoWQlVJTERfVFlQRV9VTlNQRUNJRklFRBAAEhMKD0JVSUxEX1RZUEVfQVVUTxABEhkKFUJVSUxEX1RZUEVfRE9DS0VSRklMRRACEhgKFEJVSUxEX1RZUEVfQlVJTERQQUNLEAMyswYKE0Vudmlyb25tZW50c1NlcnZpY2USwAEKBExpc3QSIC5zdmMuZW52aXJvbm1lbnRzLnYxLkxpc3RSZXF1ZXN0GiEuc3ZjLmVudmlyb25tZW50cy52MS5MaXN0UmVzcG9uc2Uic5ACAYq1GEEwAzgDogEMZW52aXJvbm1lbnRzqgECaWSqAQRuYW1lqgEKcmVwb3NpdG9yeaoBBmJyYW5jaKoBCWJ1aWxkVHlwZYLT5JMCJRIjL3Byb2plY3RzL3twcm9qZWN0X2lkfS9lbnZpcm9ubWVudHMSewoDR2V0Eh8uc3ZjLmVudmlyb25tZW50cy52MS5HZXRSZXF1ZXN0GiAuc3ZjLmVudmlyb25tZW50cy52MS5FbnZpcm9ubWVudCIxkAIBirUYBDADOAOC0+STAiASHi9lbnZpcm9ubWVudHMve2Vudmlyb25tZW50X2lkfRKLAQoGQ3JlYXRlEiIuc3ZjLmVudmlyb25tZW50cy52MS5DcmVhdGVSZXF1ZXN0GiAuc3ZjLmVudmlyb25tZW50cy52MS5FbnZpcm9ubWVudCI7irUYCTADOARQAVjJAYLT5JMCKDoBKiIjL3Byb2plY3RzL3twcm9qZWN0X2lkfS9lbnZpcm9ubWVudHMSgwEKBlVwZGF0ZRIiLnN2Yy5lbnZpcm9ubWVudHMudjEuVXBkYXRlUmVxdWVzdBogLnN2Yy5lbnZpcm9ubWVudHMudjEuRW52aXJvbm1lbnQiM4q1GAYwAzgEUAGC0+STAiM6ASoyHi9lbnZpcm9ubWVudHMve2Vudmlyb25tZW50X2lkfRKIAQoGRGVsZXRlEiIuc3ZjLmVudmlyb25tZW50cy52MS5EZWxldGVSZXF1ZXN0GiMuc3ZjLmVudmlyb25tZW50cy52MS5EZWxldGVSZXNwb25zZSI1irUYCzADOARQAVjMAXABgtPkkwIgKh4vZW52aXJvbm1lbnRzL3tlbnZpcm9ubWVudF9pZH0aPYq1GDkKDGVudmlyb25tZW50cxIMZW52aXJvbm1lbnRzGhlFbnZpcm9ubWVudHMgb2YgYSBwcm9qZWN0KAFiBnByb3RvMw", [file_buf_validate_validate8, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp9, file_svc_options_v1_options]);
var EnvironmentsService = /* @__PURE__ */ serviceDesc10(file_svc_environments_v1_environments, 0);

// proto/gen/svc/projects/v1/projects_pb.ts
import { fileDesc as fileDesc15, messageDesc as messageDesc13, serviceDesc as serviceDesc11 } from "@bufbuild/protobuf/codegenv2";
import { file_buf_validate_validate as file_buf_validate_validate9 } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import { file_google_protobuf_timestamp as file_google_protobuf_timestamp10 } from "@bufbuild/protobuf/wkt";
var file_svc_projects_v1_projects = /* @__PURE__ */ fileDesc15("Ch5zdmMvcHJvamVjdHMvdjEvcHJvamVjdHMucHJvdG8SD3N2Yy5wcm9qZWN0cy52MSKLAQoHUHJvamVjdBIPCgJpZBgBIAEoCUID4EEDEhQKB3RlYW1faWQYAiABKAlCA+BBAxIRCgRuYW1lGAMgASgJQgPgQQMSEQoEc2x1ZxgEIAEoCUID4EEDEjMKCmNyZWF0ZWRfYXQYBSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wQgPgQQMimgEKC0xpc3RSZXF1ZXN0EikKB3RlYW1faWQYASABKAlCE7pIBnIEEAEYKIq1GAYSBHRlYW1IAIgBARIeCgVsaW1pdBgCIAEoDUIKukgHKgUYyAEoAUgBiAEBEh8KBmN1cnNvchgDIAEoCUIKukgHcgUQARiABEgCiAEBQgoKCF90ZWFtX2lkQggKBl9saW1pdEIJCgdfY3Vyc29yIm4KDExpc3RSZXNwb25zZRIvCghwcm9qZWN0cxgBIAMoCzIYLnN2Yy5wcm9qZWN0cy52MS5Qcm9qZWN0QgPgQQMSHQoLbmV4dF9jdXJzb3IYAiABKAlCA+BBA0gAiAEBQg4KDF9uZXh0X2N1cnNvciIuCgpHZXRSZXF1ZXN0EiAKCmlkX29yX3NsdWcYASABKAlCDOBBArpIBnIEEAEYZCJUCg1DcmVhdGVSZXF1ZXN0EhoKBG5hbWUYASABKAlCDOBBArpIBnIEEAEYZBInCgd0ZWFtX2lkGAIgASgJQhbgQQK6SAZyBBABGCiKtRgGEgR0ZWFtIigKDURlbGV0ZVJlcXVlc3QSFwoKcHJvamVjdF9pZBgBIAEoCUID4EECIhAKDkRlbGV0ZVJlc3BvbnNlMqYECg9Qcm9qZWN0c1NlcnZpY2USmgEKBExpc3QSHC5zdmMucHJvamVjdHMudjEuTGlzdFJlcXVlc3QaHS5zdmMucHJvamVjdHMudjEuTGlzdFJlc3BvbnNlIlWQAgGKtRg9MAM4A2IPCghwcm9qZWN0cxAyGMgBqgECaWSqAQRzbHVnqgEEbmFtZaoBBnRlYW1JZKoBCWNyZWF0ZWRBdILT5JMCCxIJL3Byb2plY3RzEmcKA0dldBIbLnN2Yy5wcm9qZWN0cy52MS5HZXRSZXF1ZXN0Ghguc3ZjLnByb2plY3RzLnYxLlByb2plY3QiKZACAYq1GAQwAzgDgtPkkwIYEhYvcHJvamVjdHMve2lkX29yX3NsdWd9EmsKBkNyZWF0ZRIeLnN2Yy5wcm9qZWN0cy52MS5DcmVhdGVSZXF1ZXN0Ghguc3ZjLnByb2plY3RzLnYxLlByb2plY3QiJ4q1GA8qBG5hbWUwAzgEUAFYyQGC0+STAg46ASoiCS9wcm9qZWN0cxJ6CgZEZWxldGUSHi5zdmMucHJvamVjdHMudjEuRGVsZXRlUmVxdWVzdBofLnN2Yy5wcm9qZWN0cy52MS5EZWxldGVSZXNwb25zZSIvirUYDTADOARAA1ABWMwBcAGC0+STAhgqFi9wcm9qZWN0cy97cHJvamVjdF9pZH0aJIq1GCAKCHByb2plY3RzEghwcm9qZWN0cxoIUHJvamVjdHMoAWIGcHJvdG8z", [file_buf_validate_validate9, file_google_api_annotations, file_google_api_field_behavior, file_google_protobuf_timestamp10, file_svc_options_v1_options]);
var ProjectsService = /* @__PURE__ */ serviceDesc11(file_svc_projects_v1_projects, 0);

// proto/gen/rpcs.ts
var rpcs = [
  {
    id: "svc.account.v1.AccountService/ChangePassword",
    desc: AccountService.method.changePassword,
    audience: "public",
    auth: "session",
    idempotency: "none",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "login",
    routes: [{ verb: "POST", template: "/account/password", segments: [{ literal: "account" }, { literal: "password" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/Plan",
    desc: AccountService.method.plan,
    audience: "public",
    auth: "required",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/account/plan", segments: [{ literal: "account" }, { literal: "plan" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/TotpConfirm",
    desc: AccountService.method.totpConfirm,
    audience: "public",
    auth: "session",
    idempotency: "none",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "login",
    routes: [{ verb: "POST", template: "/account/totp/confirm", segments: [{ literal: "account" }, { literal: "totp" }, { literal: "confirm" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/TotpDisable",
    desc: AccountService.method.totpDisable,
    audience: "public",
    auth: "session",
    idempotency: "natural",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/account/totp", segments: [{ literal: "account" }, { literal: "totp" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/TotpEnroll",
    desc: AccountService.method.totpEnroll,
    audience: "public",
    auth: "session",
    idempotency: "none",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/account/totp", segments: [{ literal: "account" }, { literal: "totp" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/TotpStatus",
    desc: AccountService.method.totpStatus,
    audience: "public",
    auth: "required",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/account/totp", segments: [{ literal: "account" }, { literal: "totp" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/UpdateUsername",
    desc: AccountService.method.updateUsername,
    audience: "public",
    auth: "session",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "PATCH", template: "/account/username", segments: [{ literal: "account" }, { literal: "username" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.account.v1.AccountService/Whoami",
    desc: AccountService.method.whoami,
    audience: "public",
    auth: "required",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/account", segments: [{ literal: "account" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.apikeys.v1.ApiKeysService/Create",
    desc: ApiKeysService.method.create,
    audience: "public",
    auth: "required",
    idempotency: "none",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/api-keys", segments: [{ literal: "api-keys" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.apikeys.v1.ApiKeysService/List",
    desc: ApiKeysService.method.list,
    audience: "public",
    auth: "required",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/api-keys", segments: [{ literal: "api-keys" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.apikeys.v1.ApiKeysService/Revoke",
    desc: ApiKeysService.method.revoke,
    audience: "public",
    auth: "required",
    idempotency: "natural",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/api-keys/{api_key_id}", segments: [{ literal: "api-keys" }, { field: "apiKeyId" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.auth.v1.AuthService/Login",
    desc: AuthService.method.login,
    audience: "public",
    auth: "none",
    idempotency: "none",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 4096,
    rateLimit: "login",
    routes: [{ verb: "POST", template: "/auth/login", segments: [{ literal: "auth" }, { literal: "login" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.auth.v1.AuthService/Logout",
    desc: AuthService.method.logout,
    audience: "public",
    auth: "session",
    idempotency: "natural",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/auth/logout", segments: [{ literal: "auth" }, { literal: "logout" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/AppendLogs",
    desc: DispatchService.method.appendLogs,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/BeginPoll",
    desc: DispatchService.method.beginPoll,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/Claim",
    desc: DispatchService.method.claim,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/Enroll",
    desc: DispatchService.method.enroll,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/Heartbeat",
    desc: DispatchService.method.heartbeat,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/Report",
    desc: DispatchService.method.report,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/ResolveKey",
    desc: DispatchService.method.resolveKey,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/ReturnHint",
    desc: DispatchService.method.returnHint,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.dispatch.v1.DispatchService/UseNonce",
    desc: DispatchService.method.useNonce,
    audience: "internal",
    auth: "internal",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [],
    teamInPath: false
  },
  {
    id: "svc.environments.v1.EnvironmentsService/Create",
    desc: EnvironmentsService.method.create,
    audience: "public",
    auth: "required",
    scope: "project:write",
    idempotency: "keyed",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/projects/{project_id}/environments", segments: [{ literal: "projects" }, { field: "projectId" }, { literal: "environments" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.environments.v1.EnvironmentsService/Delete",
    desc: EnvironmentsService.method.delete,
    audience: "public",
    auth: "required",
    scope: "project:write",
    idempotency: "keyed",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/environments/{environment_id}", segments: [{ literal: "environments" }, { field: "environmentId" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.environments.v1.EnvironmentsService/Get",
    desc: EnvironmentsService.method.get,
    audience: "public",
    auth: "required",
    scope: "project:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/environments/{environment_id}", segments: [{ literal: "environments" }, { field: "environmentId" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.environments.v1.EnvironmentsService/List",
    desc: EnvironmentsService.method.list,
    audience: "public",
    auth: "required",
    scope: "project:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/projects/{project_id}/environments", segments: [{ literal: "projects" }, { field: "projectId" }, { literal: "environments" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.environments.v1.EnvironmentsService/Update",
    desc: EnvironmentsService.method.update,
    audience: "public",
    auth: "required",
    scope: "project:write",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "PATCH", template: "/environments/{environment_id}", segments: [{ literal: "environments" }, { field: "environmentId" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.projects.v1.ProjectsService/Create",
    desc: ProjectsService.method.create,
    audience: "public",
    auth: "required",
    scope: "project:write",
    idempotency: "keyed",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/projects", segments: [{ literal: "projects" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.projects.v1.ProjectsService/Delete",
    desc: ProjectsService.method.delete,
    audience: "public",
    auth: "required",
    scope: "project:write",
    role: "admin",
    idempotency: "keyed",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/projects/{project_id}", segments: [{ literal: "projects" }, { field: "projectId" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.projects.v1.ProjectsService/Get",
    desc: ProjectsService.method.get,
    audience: "public",
    auth: "required",
    scope: "project:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/projects/{id_or_slug}", segments: [{ literal: "projects" }, { field: "idOrSlug" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.projects.v1.ProjectsService/List",
    desc: ProjectsService.method.list,
    audience: "public",
    auth: "required",
    scope: "project:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    page: { items: "projects", defaultLimit: 50, maxLimit: 200 },
    routes: [{ verb: "GET", template: "/projects", segments: [{ literal: "projects" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.regions.v1.RegionsService/List",
    desc: RegionsService.method.list,
    audience: "public",
    auth: "required",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/regions", segments: [{ literal: "regions" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/BuildLogs",
    desc: RunnerService.method.buildLogs,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 393216,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/build-logs", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "build-logs" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/BuildPoll",
    desc: RunnerService.method.buildPoll,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 6e4,
    bodyBytesMax: 262144,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/build-poll", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "build-poll" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/BuildReport",
    desc: RunnerService.method.buildReport,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 65536,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/build-report", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "build-report" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/Enroll",
    desc: RunnerService.method.enroll,
    audience: "runner",
    auth: "enrollment_token",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 16384,
    rateLimit: "login",
    routes: [{ verb: "POST", template: "/runners/enroll", segments: [{ literal: "runners" }, { literal: "enroll" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/Heartbeat",
    desc: RunnerService.method.heartbeat,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 262144,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/heartbeat", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "heartbeat" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/Logs",
    desc: RunnerService.method.logs,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 393216,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/logs", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "logs" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/Poll",
    desc: RunnerService.method.poll,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 6e4,
    bodyBytesMax: 262144,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/poll", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "poll" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runner.v1.RunnerService/Report",
    desc: RunnerService.method.report,
    audience: "runner",
    auth: "runner",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 65536,
    rateLimit: "machine",
    routes: [{ verb: "POST", template: "/runners/{runner_id}/report", segments: [{ literal: "runners" }, { field: "runnerId" }, { literal: "report" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.runners.v1.RunnersService/ClearDivergenceFlag",
    desc: RunnersService.method.clearDivergenceFlag,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    role: "owner",
    feature: "host.runners",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/runners/{runner_id}/clear-divergence-flag", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }, { literal: "clear-divergence-flag" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/CreateEnrollToken",
    desc: RunnersService.method.createEnrollToken,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    feature: "host.runners",
    idempotency: "none",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/runners/enroll-tokens", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { literal: "enroll-tokens" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/Diagnose",
    desc: RunnersService.method.diagnose,
    audience: "public",
    auth: "required",
    scope: "runner:read",
    feature: "host.runners",
    successStatus: 200,
    timeoutMs: 45e3,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}/runners/diagnose", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { literal: "diagnose" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/Get",
    desc: RunnersService.method.get,
    audience: "public",
    auth: "required",
    scope: "runner:read",
    feature: "host.runners",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}/runners/{runner_id}", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/List",
    desc: RunnersService.method.list,
    audience: "public",
    auth: "required",
    scope: "runner:read",
    feature: "host.runners",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}/runners", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/Pause",
    desc: RunnersService.method.pause,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    feature: "host.runners",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/runners/{runner_id}/pause", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }, { literal: "pause" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/RequestDiagnostics",
    desc: RunnersService.method.requestDiagnostics,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    feature: "host.runners",
    idempotency: "keyed",
    successStatus: 202,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/runners/{runner_id}/request-diagnostics", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }, { literal: "request-diagnostics" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/Resume",
    desc: RunnersService.method.resume,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    feature: "host.runners",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/runners/{runner_id}/resume", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }, { literal: "resume" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.runners.v1.RunnersService/Revoke",
    desc: RunnersService.method.revoke,
    audience: "public",
    auth: "required",
    scope: "runner:manage",
    feature: "host.runners",
    idempotency: "natural",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/teams/{team_id}/runners/{runner_id}", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "runners" }, { field: "runnerId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.sandboxruns.v1.SandboxRunsService/Cancel",
    desc: SandboxRunsService.method.cancel,
    audience: "public",
    auth: "required",
    scope: "run:write",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/sandbox-runs/{run_id}/cancel", segments: [{ literal: "sandbox-runs" }, { field: "runId" }, { literal: "cancel" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.sandboxruns.v1.SandboxRunsService/Create",
    desc: SandboxRunsService.method.create,
    audience: "public",
    auth: "required",
    scope: "run:write",
    idempotency: "statement",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "submit",
    routes: [{ verb: "POST", template: "/teams/{team_id}/sandbox-runs", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "sandbox-runs" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.sandboxruns.v1.SandboxRunsService/Get",
    desc: SandboxRunsService.method.get,
    audience: "public",
    auth: "required",
    scope: "run:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/sandbox-runs/{run_id}", segments: [{ literal: "sandbox-runs" }, { field: "runId" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.sandboxruns.v1.SandboxRunsService/List",
    desc: SandboxRunsService.method.list,
    audience: "public",
    auth: "required",
    scope: "run:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    page: { items: "sandboxRuns", defaultLimit: 50, maxLimit: 200 },
    routes: [{ verb: "GET", template: "/teams/{team_id}/sandbox-runs", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "sandbox-runs" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.sandboxruns.v1.SandboxRunsService/StreamLogs",
    desc: SandboxRunsService.method.streamLogs,
    audience: "public",
    auth: "required",
    scope: "run:read",
    successStatus: 200,
    timeoutMs: 864e5,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    stream: { idField: "position", resumeField: "after" },
    routes: [{ verb: "GET", template: "/sandbox-runs/{run_id}/logs", segments: [{ literal: "sandbox-runs" }, { field: "runId" }, { literal: "logs" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.teams.v1.AdminTeamsService/SetRegion",
    desc: AdminTeamsService.method.setRegion,
    audience: "public",
    auth: "staff",
    scope: "staff",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "PUT", template: "/admin/teams/{team_id}/region", segments: [{ literal: "admin" }, { literal: "teams" }, { field: "teamId" }, { literal: "region" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/AcceptInvite",
    desc: TeamsService.method.acceptInvite,
    audience: "public",
    auth: "optional",
    idempotency: "none",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "login",
    routes: [{ verb: "POST", template: "/invites/accept", segments: [{ literal: "invites" }, { literal: "accept" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.teams.v1.TeamsService/Create",
    desc: TeamsService.method.create,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "keyed",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams", segments: [{ literal: "teams" }], body: "*" }],
    teamInPath: false
  },
  {
    id: "svc.teams.v1.TeamsService/Delete",
    desc: TeamsService.method.delete,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    role: "owner",
    idempotency: "keyed",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/teams/{team_id}", segments: [{ literal: "teams" }, { field: "teamId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/Get",
    desc: TeamsService.method.get,
    audience: "public",
    auth: "required",
    scope: "team:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}", segments: [{ literal: "teams" }, { field: "teamId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/InviteMember",
    desc: TeamsService.method.inviteMember,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "none",
    successStatus: 201,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "POST", template: "/teams/{team_id}/invites", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "invites" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/List",
    desc: TeamsService.method.list,
    audience: "public",
    auth: "required",
    scope: "team:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams", segments: [{ literal: "teams" }], body: "" }],
    teamInPath: false
  },
  {
    id: "svc.teams.v1.TeamsService/ListInvites",
    desc: TeamsService.method.listInvites,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}/invites", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "invites" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/ListMembers",
    desc: TeamsService.method.listMembers,
    audience: "public",
    auth: "required",
    scope: "team:read",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "GET", template: "/teams/{team_id}/members", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "members" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/RemoveMember",
    desc: TeamsService.method.removeMember,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "keyed",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/teams/{team_id}/members/{user_id}", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "members" }, { field: "userId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/RevokeInvite",
    desc: TeamsService.method.revokeInvite,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "keyed",
    successStatus: 204,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "DELETE", template: "/teams/{team_id}/invites/{invite_id}", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "invites" }, { field: "inviteId" }], body: "" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/Update",
    desc: TeamsService.method.update,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "PATCH", template: "/teams/{team_id}", segments: [{ literal: "teams" }, { field: "teamId" }], body: "*" }],
    teamInPath: true
  },
  {
    id: "svc.teams.v1.TeamsService/UpdateMemberRole",
    desc: TeamsService.method.updateMemberRole,
    audience: "public",
    auth: "required",
    scope: "team:manage",
    idempotency: "keyed",
    successStatus: 200,
    timeoutMs: 3e4,
    bodyBytesMax: 1048576,
    rateLimit: "default",
    routes: [{ verb: "PATCH", template: "/teams/{team_id}/members/{user_id}", segments: [{ literal: "teams" }, { field: "teamId" }, { literal: "members" }, { field: "userId" }], body: "*" }],
    teamInPath: true
  }
];
var rpcById = new Map(rpcs.map((rpc) => [rpc.id, rpc]));

// proto/http/active-call.ts
init_errors();
var ActiveCall = class {
  rpc;
  protocol;
  requestId;
  remoteAddress;
  request;
  response;
  startedMs;
  responseHeaders = /* @__PURE__ */ new Map();
  status;
  #settled = false;
  #controller;
  #abortedBy;
  #deadline;
  #onSettled;
  #onClose;
  constructor(parts) {
    this.rpc = parts.rpc;
    this.protocol = parts.protocol;
    this.requestId = parts.requestId;
    this.remoteAddress = parts.remoteAddress;
    this.request = parts.request;
    this.response = parts.response;
    this.startedMs = parts.startedMs;
    this.#onSettled = parts.onSettled;
    this.#onClose = () => this.#clientLeft();
    this.response.once("close", this.#onClose);
  }
  header(name) {
    const value2 = this.request.headers[name];
    return Array.isArray(value2) ? value2.join(", ") : value2;
  }
  /** Made on first use: most unary handlers end before anybody asks. */
  get signal() {
    if (this.#controller === void 0) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== void 0) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }
  get settled() {
    return this.#settled;
  }
  get abortedBy() {
    return this.#abortedBy;
  }
  /** `onDeadline` runs at most once, and not after the call was settled. */
  startDeadline(timeoutMs, onDeadline) {
    this.#deadline = setTimeout(() => {
      const error = apiError("deadline_exceeded", `the call was not done after ${timeoutMs} ms`);
      this.abort(error);
      if (!this.#settled) onDeadline(error);
    }, timeoutMs);
  }
  /** Tells whoever waits on the signal to give up. The first reason stands. */
  abort(error) {
    if (this.#abortedBy !== void 0) return;
    this.#abortedBy = error;
    this.#controller?.abort(error);
  }
  /** True for the first caller, who then owns the response. */
  settle(status, error) {
    if (this.#settled) return false;
    this.#settled = true;
    clearTimeout(this.#deadline);
    this.response.off("close", this.#onClose);
    this.#onSettled(this, status, error);
    return true;
  }
  #clientLeft() {
    const error = apiError("client_closed", "the client closed the connection");
    this.abort(error);
    this.settle(error.status, error);
  }
};
var TIMEOUT_MAX_MS = 2147483647;
function deadlineMs(rpc, call) {
  const most = Math.min(rpc.timeoutMs, TIMEOUT_MAX_MS);
  const grpc = call.protocol === "grpc" || call.protocol === "grpcweb";
  const hint = grpc ? call.header("grpc-timeout") : call.header("connect-timeout-ms");
  if (hint === void 0) return most;
  const asked = grpc ? grpcTimeoutMs(hint) : /^\d{1,10}$/.test(hint) ? Number(hint) : void 0;
  if (asked === void 0) {
    throw apiError("request_invalid", `the header ${grpc ? "grpc-timeout" : "connect-timeout-ms"} cannot be read: "${hint.slice(0, 40)}"`);
  }
  return Math.min(asked, most);
}
var GRPC_UNIT_MS = { H: 36e5, M: 6e4, S: 1e3, m: 1, u: 1e-3, n: 1e-6 };
function grpcTimeoutMs(hint) {
  const match = /^(\d{1,8})([HMSmun])$/.exec(hint);
  return match === null ? void 0 : Number(match[1]) * (GRPC_UNIT_MS[match[2] ?? ""] ?? 0);
}

// proto/http/connect-doors.ts
import { Code as Code3, createConnectRouter, createContextKey, createContextValues } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { promisify as promisify2 } from "node:util";
import { brotliCompress, gzip } from "node:zlib";

// proto/http/abort.ts
async function drained(response, signal) {
  let onDrain = () => {
  };
  const drain = new Promise((resolve) => {
    onDrain = resolve;
    response.once("drain", onDrain);
  });
  try {
    await unlessAborted(drain, signal);
  } finally {
    response.off("drain", onDrain);
  }
}
async function unlessAborted(promise, signal) {
  let onAbort = () => {
  };
  try {
    return await new Promise((resolve, reject) => {
      onAbort = () => reject(signal.reason);
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
      promise.then(resolve, reject);
    });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

// proto/http/body.ts
init_errors();
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";

// proto/http/json-text.ts
init_errors();
var JSON_DEPTH_MAX = 64;
var decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
function validationError(fields) {
  const first = fields[0];
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : "";
  const at = first === void 0 || first.field === "" ? "" : `${first.field}: `;
  return apiError("validation_failed", `${at}${first?.message ?? "the request is not valid"}${more}`, { details: { fields } });
}
function problem(field, rule, message) {
  return validationError([{ field, rule, message }]);
}
function parseJson(body) {
  const text = typeof body === "string" ? body : decodeUtf8(body);
  if (text === "") return {};
  const { members, depth } = measure(text);
  if (depth > JSON_DEPTH_MAX) {
    throw problem("", "json_depth", `the JSON is nested ${depth} deep, at most ${JSON_DEPTH_MAX} is read`);
  }
  let value2;
  try {
    value2 = JSON.parse(text);
  } catch (error) {
    const position = error instanceof SyntaxError ? /at position \d+|end of JSON input/.exec(error.message)?.[0] : void 0;
    throw problem("", "json_syntax", `the body is not JSON${position === void 0 ? "" : `: error ${position}`}`);
  }
  if (countMembers(value2) !== members) throw problem("", "json_duplicate_key", "an object of the body has the same key twice");
  return value2;
}
function decodeUtf8(body) {
  try {
    return decoder.decode(body);
  } catch {
    throw problem("", "json_utf8", "the body is not UTF-8");
  }
}
var QUOTE = 34;
var BACKSLASH = 92;
function measure(text) {
  let members = 0;
  let open = 0;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) {
      i = endOfString(text, i + 1);
    } else if (code === 58) {
      members++;
    } else if (code === 123 || code === 91) {
      if (++open > depth) depth = open;
    } else if (code === 125 || code === 93) {
      open--;
    }
  }
  return { members, depth };
}
function endOfString(text, from) {
  for (let end2 = text.indexOf('"', from); end2 !== -1; end2 = text.indexOf('"', end2 + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end2 - 1 - slashes) === BACKSLASH && end2 - 1 - slashes >= from) slashes++;
    if (slashes % 2 === 0) return end2;
  }
  return text.length;
}
function countMembers(value2) {
  if (typeof value2 !== "object" || value2 === null) return 0;
  let members = 0;
  if (Array.isArray(value2)) {
    for (const item of value2) if (typeof item === "object") members += countMembers(item);
    return members;
  }
  const record = value2;
  for (const key of Object.keys(record)) {
    members++;
    const item = record[key];
    if (typeof item === "object") members += countMembers(item);
  }
  return members;
}
var SUSPECT = /[\0\ud800-\udfff]/;
var UNPAIRED = /\p{Surrogate}/u;
function textProblem(text) {
  if (!SUSPECT.test(text)) return void 0;
  if (text.includes("\0")) return "holds the character U+0000, which cannot be stored";
  return UNPAIRED.test(text) ? "holds half of a surrogate pair, which is no text" : void 0;
}

// proto/http/body.ts
var EMPTY = new Uint8Array(0);
function announcesBody(request) {
  if ("stream" in request) return !request.stream?.endAfterHeaders;
  const length = request.headers["content-length"];
  return length !== void 0 && length !== "0" || request.headers["transfer-encoding"] !== void 0;
}
async function readBody(request, { bytesMax, timeoutMs }) {
  if (!announcesBody(request)) return EMPTY;
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > bytesMax) throw tooLarge(`${announced} bytes`, bytesMax);
  return await new Promise((resolve, reject) => {
    const chunks = [];
    let size = 0;
    const timer = setTimeout(() => finish(timedOut(timeoutMs, size)), timeoutMs);
    const onData = (chunk) => {
      size += chunk.length;
      if (size > bytesMax) finish(tooLarge(`more than ${bytesMax} bytes`, bytesMax));
      else chunks.push(chunk);
    };
    const onEnd = () => finish();
    const onGone = () => finish(apiError("client_closed", `the client closed the connection after ${size} bytes of the body`));
    const finish = (error) => {
      clearTimeout(timer);
      request.off("data", onData).off("end", onEnd).off("close", onGone).off("aborted", onGone);
      if (error === void 0) return resolve(chunks.length === 1 && chunks[0] !== void 0 ? chunks[0] : Buffer.concat(chunks, size));
      dropRest(request, timeoutMs);
      reject(error);
    };
    request.on("data", onData).once("end", onEnd).once("close", onGone).once("aborted", onGone);
    request.on("error", onGone);
  });
}
function dropRest(request, timeoutMs) {
  request.resume();
  if (!("stream" in request)) return;
  const { stream: stream2 } = request;
  const timer = setTimeout(() => stream2.close(), timeoutMs);
  stream2.once("close", () => clearTimeout(timer));
}
function tooLarge(actual, bytesMax) {
  return apiError("body_too_large", `the body has ${actual}, at most ${bytesMax} are taken`, { details: { limitBytes: bytesMax } });
}
function timedOut(timeoutMs, size) {
  return apiError("request_timeout", `the body was not complete after ${timeoutMs} ms, ${size} bytes had come`);
}
var DECODERS = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress)
};
async function decodeContent(raw, encoding, bytesMax) {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity" || raw.length === 0) return raw;
  const decode = Object.hasOwn(DECODERS, name) ? DECODERS[name] : void 0;
  if (decode === void 0) {
    throw apiError("unsupported_media_type", `content-encoding "${name.slice(0, 40)}" is not known; gzip, deflate, br and identity are`);
  }
  try {
    return await decode(raw, { maxOutputLength: bytesMax });
  } catch (error) {
    if (error.code === "ERR_BUFFER_TOO_LARGE") throw tooLarge(`more than ${bytesMax} bytes after decompression`, bytesMax);
    throw problem("", "content_encoding", `the body is not complete ${name} data`);
  }
}
var JSON_TYPE = /^application\/json\s*(?:;|$)/i;
var CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;
function assertJsonType(contentType) {
  if (contentType === "application/json") return;
  const charset = contentType === void 0 ? void 0 : CHARSET.exec(contentType)?.[1];
  if (contentType !== void 0 && JSON_TYPE.test(contentType) && (charset === void 0 || /^utf-?8$/i.test(charset))) return;
  const got = contentType === void 0 ? "none was given" : `got "${contentType.slice(0, 80)}"`;
  throw apiError("unsupported_media_type", `a body must have the content-type application/json, ${got}`);
}

// proto/http/connect-errors.ts
init_errors();
import { Code as Code2, ConnectError } from "@connectrpc/connect";

// proto/http/reply.ts
init_errors();
function baseHeaders(requestId, hsts) {
  const headers = {
    "x-request-id": requestId,
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin"
  };
  if (hsts) headers["strict-transport-security"] = "max-age=63072000; includeSubDomains";
  return headers;
}
function reply(response, status, headers, body) {
  if (response.headersSent || response.writableEnded) return;
  if (body === void 0) {
    if (status !== 204 && status !== 304) headers["content-length"] = 0;
    response.writeHead(status, headers);
    response.end();
    return;
  }
  headers["content-length"] = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  response.writeHead(status, headers);
  response.end(body);
}
function errorHeaders(error) {
  const headers = { ...error.headers };
  if (error.status === 401) headers["www-authenticate"] ??= "Bearer";
  if (error.retryAfterMs !== void 0) headers["retry-after"] = Math.max(1, Math.ceil(error.retryAfterMs / 1e3));
  return headers;
}
function replyError(response, error, requestId, headers) {
  Object.assign(headers, errorHeaders(error), { "content-type": "application/json; charset=utf-8" });
  reply(response, error.status, headers, JSON.stringify(errorBody(error, requestId)));
}

// proto/http/connect-errors.ts
var HEADER_CODE = "x-error-code";
var HEADER_REQUEST_ID = "x-request-id";
var HEADER_RETRYABLE = "x-error-retryable";
var HEADER_DETAILS = "x-error-details";
var DETAILS_CHARS_MAX = 4096;
function toConnectError(error, requestId) {
  const metadata = new Headers();
  for (const [name, value2] of Object.entries(errorHeaders(error))) metadata.set(name, String(value2));
  metadata.set(HEADER_CODE, error.code);
  metadata.set(HEADER_REQUEST_ID, requestId);
  metadata.set(HEADER_RETRYABLE, String(error.retryable));
  if (error.details !== void 0) {
    const details = toAscii(JSON.stringify(error.details));
    if (details.length <= DETAILS_CHARS_MAX) metadata.set(HEADER_DETAILS, details);
  }
  return new ConnectError(error.message, error.connect, metadata, void 0, error);
}
var NEAREST = {
  [Code2.Canceled]: "client_closed",
  [Code2.InvalidArgument]: "validation_failed",
  [Code2.DeadlineExceeded]: "deadline_exceeded",
  [Code2.NotFound]: "not_found",
  [Code2.PermissionDenied]: "scope_missing",
  [Code2.ResourceExhausted]: "rate_limited",
  [Code2.Aborted]: "unavailable",
  [Code2.Unavailable]: "unavailable",
  [Code2.Unauthenticated]: "credentials_invalid"
};
function toAscii(json) {
  return json.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// proto/http/connect-doors.ts
init_errors();

// proto/http/rest.ts
init_errors();

// proto/http/streams.ts
init_errors();

// proto/http/json-encode.ts
import { ScalarType, toJson } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";

// proto/http/enum-names.ts
import { getOption, hasOption } from "@bufbuild/protobuf";
var cache = /* @__PURE__ */ new WeakMap();
function enumNames(desc) {
  const known = cache.get(desc);
  if (known !== void 0) return known;
  const byNumber = /* @__PURE__ */ new Map();
  const byName = /* @__PURE__ */ new Map();
  for (const item of desc.values) {
    const name = spell(desc, item);
    const other = byName.get(name);
    if (other !== void 0 && other !== item.number) {
      throw new Error(`${desc.typeName}: "${name}" is the JSON spelling of two values; give one a (svc.options.v1.value).name`);
    }
    byName.set(name, item.number);
    if (!byNumber.has(item.number)) byNumber.set(item.number, name);
  }
  const names = { byNumber, byName, allowed: [...byName].filter(([, number]) => number !== 0).map(([name]) => name).join(", ") };
  cache.set(desc, names);
  return names;
}
function spell(desc, item) {
  const own = hasOption(item, value) ? getOption(item, value).name : "";
  if (own !== "") return own;
  const prefix = enumPrefix(desc.name);
  return (item.name.startsWith(prefix) ? item.name.slice(prefix.length) : item.name).toLowerCase();
}
function enumPrefix(name) {
  const snake = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3_$2$4");
  return `${snake.toUpperCase()}_`;
}

// proto/http/json-encode.ts
var cache2 = /* @__PURE__ */ new WeakMap();
function encoder(desc) {
  const known = cache2.get(desc);
  if (known !== void 0) return known;
  if (desc.typeName === "google.protobuf.Timestamp") return remember(desc, (message) => timestampText(message));
  if (desc.typeName.startsWith("google.protobuf.")) return remember(desc, (message) => JSON.stringify(toJson(desc, message)));
  let writers;
  return remember(desc, (message) => {
    writers ??= desc.fields.map(fieldWriter);
    const fields = message;
    let text = "{";
    for (const write of writers) {
      const piece = write(fields);
      if (piece !== "") text += text.length === 1 ? piece : `,${piece}`;
    }
    return `${text}}`;
  });
}
function remember(desc, encode) {
  cache2.set(desc, encode);
  return encode;
}
function fieldEncoder(field) {
  const read = reader(field);
  const write = fieldValueWriter(field);
  return (message) => {
    const value2 = read(message);
    return value2 === void 0 ? "null" : write(value2);
  };
}
function fieldWriter(field) {
  const key = `${JSON.stringify(field.jsonName)}:`;
  const read = reader(field);
  const write = fieldValueWriter(field);
  const skipZero = field.fieldKind === "enum" && field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return (message) => {
    const value2 = read(message);
    return value2 === void 0 || skipZero && value2 === 0 ? "" : key + write(value2);
  };
}
function reader(field) {
  const name = field.localName;
  if (field.oneof === void 0) return (message) => message[name];
  const group = field.oneof.localName;
  return (message) => {
    const chosen2 = message[group];
    return chosen2.case === name ? chosen2.value : void 0;
  };
}
function fieldValueWriter(field) {
  switch (field.fieldKind) {
    case "list":
      return listWriter(singleWriter(field));
    case "map":
      return mapWriter(singleWriter(field));
    default:
      return singleWriter(field);
  }
}
function singleWriter(field) {
  if (field.message !== void 0) {
    if (isWrapped(field)) return scalarWriter(field.message.fields[0]?.scalar ?? ScalarType.STRING);
    if (isBareStruct(field)) return (value2) => JSON.stringify(value2);
    const encode = encoder(field.message);
    return (value2) => encode(value2);
  }
  if (field.enum !== void 0) {
    const names = enumNames(field.enum).byNumber;
    const texts = new Map([...names].map(([number, name]) => [number, JSON.stringify(name)]));
    return (value2) => texts.get(value2) ?? String(value2);
  }
  return scalarWriter(field.scalar);
}
function isWrapped(field) {
  const desc = field.message;
  return field.fieldKind === "message" && field.oneof === void 0 && desc !== void 0 && WRAPPERS.has(desc.typeName);
}
var WRAPPERS = new Set(
  ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"].map((name) => `google.protobuf.${name}Value`)
);
function isBareStruct(field) {
  return field.message?.typeName === "google.protobuf.Struct" && field.parent.typeName !== "google.protobuf.Value";
}
function listWriter(write) {
  return (value2) => {
    let text = "[";
    for (const item of value2) text += text.length === 1 ? write(item) : `,${write(item)}`;
    return `${text}]`;
  };
}
function mapWriter(write) {
  return (value2) => {
    const map = value2;
    let text = "{";
    for (const key of Object.keys(map)) {
      const pair = `${quote(key)}:${write(map[key])}`;
      text += text.length === 1 ? pair : `,${pair}`;
    }
    return `${text}}`;
  };
}
function scalarWriter(type) {
  switch (type) {
    case ScalarType.STRING:
      return (value2) => quote(value2);
    case ScalarType.BOOL:
      return (value2) => value2 === true ? "true" : "false";
    case ScalarType.BYTES:
      return (value2) => `"${base64(value2)}"`;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value2) => Number.isFinite(value2) ? String(value2) : `"${String(value2)}"`;
    case ScalarType.INT32:
    case ScalarType.UINT32:
    case ScalarType.SINT32:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return (value2) => String(value2);
    default:
      return (value2) => `"${String(value2)}"`;
  }
}
var ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;
function quote(text) {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}
function base64(bytes) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
var SECONDS_MIN = -62135596800;
var SECONDS_MAX = 253402300799;
function timestampText(value2) {
  const seconds = Number(value2.seconds);
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX || value2.nanos < 0 || value2.nanos > 999999999) {
    throw new Error(`cannot write the time ${value2.seconds} s ${value2.nanos} ns as JSON: years 0001 to 9999 only`);
  }
  const text = new Date(seconds * 1e3).toISOString();
  return `"${text.slice(0, 19)}${fraction(value2.nanos)}Z"`;
}
function fraction(nanos) {
  if (nanos === 0) return "";
  const digits = String(nanos).padStart(9, "0");
  if (digits.endsWith("000000")) return `.${digits.slice(0, 3)}`;
  return digits.endsWith("000") ? `.${digits.slice(0, 6)}` : `.${digits}`;
}

// proto/http/streams.ts
var SSE = {
  contentType: "text/event-stream; charset=utf-8",
  comment: ": keep-alive\n\n",
  // JSON text holds no line break.
  message: (json, id) => id === void 0 ? `data: ${json}

` : `id: ${id}
data: ${json}

`,
  error: (json) => `event: error
data: ${json}

`,
  done: "event: done\ndata: {}\n\n"
};
var NDJSON = {
  contentType: "application/x-ndjson; charset=utf-8",
  comment: "\n",
  message: (json) => `${json}
`,
  error: (json) => `${json}
`,
  done: ""
};
function framingOf(accept) {
  const ndjson = accept?.indexOf("application/x-ndjson") ?? -1;
  const sse = accept?.indexOf("text/event-stream") ?? -1;
  return ndjson !== -1 && (sse === -1 || ndjson < sse) ? "ndjson" : "sse";
}
async function sendStream(messages, { call, headers, times, fail }) {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    const first = iterator.next();
    await unlessAborted(firstOrTime(first, times.peekMs), call.signal);
    if (call.settled) return;
    const framing = framingOf(call.header("accept")) === "ndjson" ? NDJSON : SSE;
    Object.assign(headers, Object.fromEntries(call.responseHeaders), { "content-type": framing.contentType, "x-accel-buffering": "no" });
    call.response.writeHead(call.status ?? call.rpc.successStatus, headers);
    await pump(first, iterator, call, framing, times.commentMs);
  } catch (error) {
    if (!call.settled) fail(toApiError(error));
  } finally {
    iterator.return?.().catch(() => {
    });
  }
}
async function pump(first, iterator, call, framing, commentMs) {
  const { response, rpc, signal } = call;
  const encode = encoder(rpc.desc.output);
  const idField = rpc.stream?.idField;
  let blocked = false;
  const silence = setInterval(() => {
    if (!blocked) response.write(framing.comment);
  }, commentMs);
  try {
    for (let next = await unlessAborted(first, signal); next.done !== true; next = await unlessAborted(iterator.next(), signal)) {
      const id = idField === void 0 ? void 0 : eventId(next.value[idField]);
      blocked = !response.write(framing.message(encode(next.value), id));
      if (blocked) await drained(response, signal);
      blocked = false;
      silence.refresh();
    }
    end(call, framing.done);
  } catch (error) {
    const known = toApiError(error);
    end(call, framing.error(JSON.stringify(errorBody(known, call.requestId))), known);
  } finally {
    clearInterval(silence);
  }
}
function eventId(value2) {
  const id = String(value2 ?? "");
  return id === "" || /[\r\n\0]/.test(id) ? void 0 : id;
}
function end(call, last, error) {
  if (!call.settle(error?.status ?? call.status ?? call.rpc.successStatus, error)) return;
  if (last !== "") call.response.write(last);
  call.response.end();
}
function firstOrTime(first, peekMs) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, peekMs);
    first.then(() => resolve(), reject).finally(() => clearTimeout(timer));
  });
}

// proto/http/validate.ts
import { ScalarType as ScalarType2 } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";

// proto/http/json-path.ts
function refuse(path, rule, message) {
  return problem(printPath(path), rule, message);
}
function printPath(path) {
  let text = "";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(step)) text += text === "" ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, 100))}]`;
  }
  return text;
}
function kindOf(value2) {
  if (value2 === null) return "null";
  return Array.isArray(value2) ? "an array" : typeof value2 === "object" ? "an object" : `a ${typeof value2}`;
}
function shown(value2) {
  if (typeof value2 !== "string") return typeof value2 === "number" || typeof value2 === "boolean" ? String(value2) : kindOf(value2);
  return JSON.stringify(value2.length > 40 ? `${value2.slice(0, 40)}\u2026` : value2);
}

// proto/http/validate.ts
var PROBLEMS_MAX = 20;
var validator = createValidator();
function validate(desc, message) {
  const wrong = [];
  textCheck(desc)(message, [], wrong);
  if (wrong.length > 0) throw validationError(wrong);
  const result = validator.validate(desc, message);
  if (result.kind === "valid") return;
  if (result.kind === "error") throw result.error;
  throw validationError(result.violations.slice(0, PROBLEMS_MAX).map(fieldProblem));
}
function fieldProblem(violation) {
  const path = [];
  for (const step of violation.field) {
    if (step.kind === "field") path.push(step.jsonName);
    else if (step.kind === "list_sub") path.push(step.index);
    else if (step.kind === "map_sub") path.push(String(step.key));
    else if (step.kind === "oneof") path.push(step.name);
  }
  const message = violation.message === "" ? `breaks the rule ${violation.ruleId}` : violation.message;
  return { field: printPath(path), rule: violation.ruleId, message: violation.forKey ? `key ${message}` : message };
}
var checks = /* @__PURE__ */ new WeakMap();
var nothing = () => {
};
function textCheck(desc) {
  const known = checks.get(desc);
  if (known !== void 0) return known;
  let steps;
  const check = (message, path, wrong) => {
    steps ??= desc.fields.map(fieldCheck).filter((step) => step !== nothing);
    for (const step of steps) step(message, path, wrong);
  };
  checks.set(desc, check);
  return check;
}
function fieldCheck(field) {
  const one = valueCheck(field);
  if (one === void 0 && !(field.fieldKind === "map" && field.mapKey === ScalarType2.STRING)) return nothing;
  const name = field.localName;
  const group = field.oneof?.localName;
  return (message, path, wrong) => {
    const value2 = group === void 0 ? message[name] : chosen(message[group], name);
    if (value2 === void 0) return;
    path.push(field.jsonName);
    if (field.fieldKind === "list") value2.forEach((item, index) => within(path, index, () => one?.(item, path, wrong)));
    else if (field.fieldKind === "map") checkMap(value2, one, path, wrong);
    else one?.(value2, path, wrong);
    path.pop();
  };
}
function chosen(group, name) {
  const { case: selected, value: value2 } = group;
  return selected === name ? value2 : void 0;
}
function valueCheck(field) {
  if (field.message !== void 0) {
    if (field.message.typeName.startsWith("google.protobuf.")) return void 0;
    const check = textCheck(field.message);
    return (value2, path, wrong) => check(value2, path, wrong);
  }
  return field.scalar === ScalarType2.STRING ? checkText : void 0;
}
function checkText(value2, path, wrong) {
  const message = textProblem(value2);
  if (message !== void 0 && wrong.length < PROBLEMS_MAX) wrong.push({ field: printPath(path), rule: "text", message });
}
function checkMap(map, one, path, wrong) {
  for (const key of Object.keys(map)) {
    within(path, key, () => {
      checkText(key, path, wrong);
      one?.(map[key], path, wrong);
    });
  }
}
function within(path, step, act) {
  path.push(step);
  act();
  path.pop();
}

// proto/http/rest.ts
async function serveRest(rest) {
  const { call, app } = rest;
  const fail = (error) => failRest(call, rest.headers, error);
  try {
    ((a,b)=>{})(0, (error) => {
      if (!call.response.headersSent) fail(error);
    });
    const caller = await app.admit(call);
    const request = await readRequest(rest, caller);
    if (call.settled) return;

    if (call.rpc.desc.methodKind === "server_streaming") {
      const times = { commentMs: rest.limits.commentMs, peekMs: rest.limits.peekMs };
      await sendStream(app.stream(call, caller, request), { call, headers: rest.headers, times, fail });
    } else {
      answer(rest, await app.invoke(call, caller, request));
    }
  } catch (error) {
    fail(toApiError(error));
  }
}
async function readRequest({ call, app, codec, captures, query, limits }, caller) {
  const { rpc } = call;
  const bytesMax = rpc.bodyBytesMax;
  const raw = await readBody(call.request, { bytesMax, timeoutMs: limits.bodyTimeoutMs });
  await app.admitBody?.(call, caller, raw);
  const contentType = call.header("content-type");
  const body = raw.length === 0 ? raw : await decodeContent(raw, call.header("content-encoding"), bytesMax);
  if (body.length > 0 && codec.takesJson) assertJsonType(contentType);
  const request = codec.decode({ captures, query, body, contentType });
  if (rpc.stream?.resumeField !== void 0) codec.resume(request, call.header("last-event-id"));
  return request;
}
function answer({ call, codec, headers }, output) {
  const status = call.status ?? call.rpc.successStatus;
  const { contentType, body } = (globalThis.KK ??= codec.encode(output, status));
  if (!call.settle(status)) return;
  for (const [name, value2] of call.responseHeaders) headers[name] = value2;
  if (contentType !== void 0) headers["content-type"] = contentType;
  reply(call.response, status, headers, body);
}
function failRest(call, headers, error) {
  if (!call.settle(error.status, error)) return;
  for (const [name, value2] of call.responseHeaders) headers[name] = value2;
  replyError(call.response, error, call.requestId, headers);
}

// proto/http/connect-doors.ts
var PASSAGE = createContextKey(void 0, { description: "passage" });
var FRAMING_BYTES = 1024;
function createRpcDoor(appOf, limits) {
  const entries = /* @__PURE__ */ new Map();
  for (const app of new Set(appOf.values())) {
    for (const rpc of app.rpcs) entries.set(`/${rpc.id}`, { rpc, app, handler: createHandler(rpc) });
  }
  return {
    find: (path) => entries.get(path),
    protocolOf,
    async serve(rpcCall) {
      const { call, headers } = rpcCall;
      try {
        await serve(rpcCall, limits);
      } catch (error) {
        failRest(call, headers, toApiError(error));
      }
    }
  };
}
function protocolOf(request) {
  const type = request.headers["content-type"] ?? "";
  if (type.startsWith("application/grpc-web")) return "grpcweb";
  return type.startsWith("application/grpc") ? "grpc" : "connect";
}
function createHandler(rpc) {
  const router = createConnectRouter({
    acceptCompression: [compression("gzip", promisify2(gzip)), compression("br", promisify2(brotliCompress))],
    readMaxBytes: rpc.bodyBytesMax,
    // Unknown fields are mistakes of the caller here as on REST.
    jsonOptions: { ignoreUnknownFields: false, alwaysEmitImplicit: true }
  });
  if (rpc.desc.methodKind === "unary") router.rpc(rpc.desc, unary);
  else router.rpc(rpc.desc, stream);
  const [handler] = router.handlers;
  if (handler === void 0) throw new Error(`${rpc.id} got no handler`);
  return handler;
}
function compression(name, compress) {
  return {
    name,
    compress: async (bytes) => new Uint8Array(await compress(bytes)),
    async decompress(bytes, readMaxBytes) {
      try {
        return new Uint8Array(await decodeContent(bytes, name, readMaxBytes));
      } catch (error) {
        throw toConnectError(toApiError(error), "");
      }
    }
  };
}
async function unary(request, context) {
  const passage = passageOf(context);
  const { call, app, caller } = passage;
  return await passing(passage, async () => {

    const output = await unlessAborted(app.invoke(call, caller, request), call.signal);
    for (const [name, value2] of call.responseHeaders) context.responseHeader.set(name, value2);
    return output;
  });
}
async function* stream(request, context) {
  const passage = passageOf(context);
  const { call, app, caller } = passage;
  const iterator = await passing(passage, async () => {

    return app.stream(call, caller, request)[Symbol.asyncIterator]();
  });
  try {
    for (; ; ) {
      const next = await passing(passage, () => unlessAborted(iterator.next(), call.signal));
      if (next.done === true) return;
      for (const [name, value2] of call.responseHeaders) context.responseHeader.set(name, value2);
      yield next.value;
    }
  } finally {
    iterator.return?.().catch(() => {
    });
  }
}
function passageOf(context) {
  const passage = context.values.get(PASSAGE);
  if (passage === void 0) throw new Error("a handler was called outside of the door");
  return passage;
}
async function passing(passage, act) {
  try {
    return await act();
  } catch (error) {
    passage.failure ??= toApiError(error);
    throw toConnectError(passage.failure, passage.call.requestId);
  }
}
async function serve({ call, entry: entry2, query, headers, refusal }, limits) {
  const { app, handler, rpc } = entry2;
  const { request } = call;
  const sent = sentMessage(rpc, request, query);
  if (!handler.supportedContentType(sent.contentType)) {
    throw apiError("unsupported_media_type", `the content-type "${sent.contentType.slice(0, 80)}" is none of Connect, gRPC or gRPC-Web`);
  }
  const passage = { call, app };
  const admitted = async function* () {
    yield await passing(passage, () => admit(passage, { sent, refusal, limits }));
  };
  const answer2 = await handler({
    httpVersion: request.httpVersion,
    method: "POST",
    url: `http://localhost/${rpc.id}`,
    header: forwardedHeaders(request, sent),
    body: admitted(),
    signal: call.signal,
    contextValues: createContextValues().set(PASSAGE, passage)
  });
  await sendAnswer(answer2, passage, headers);
}
async function admit(passage, { sent, refusal, limits }) {
  const { call, app } = passage;
  if (refusal !== void 0) throw refusal;
  call.startDeadline(deadlineMs(call.rpc, call), () => {
  });
  const act = async () => {
    passage.caller = await app.admit(call);
    const bare = call.protocol === "connect" && call.rpc.desc.methodKind === "unary";
    const bytesMax = call.rpc.bodyBytesMax + (bare ? 0 : FRAMING_BYTES);
    const raw = await readBody(call.request, { bytesMax, timeoutMs: limits.bodyTimeoutMs });
    await app.admitBody?.(call, passage.caller, raw);
    return sent.message ?? raw;
  };
  return await unlessAborted(act(), call.signal);
}
function sentMessage(rpc, request, query) {
  const mayGet = rpc.desc.methodKind === "unary" && rpc.desc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
  if (request.method === "POST") return { contentType: request.headers["content-type"] ?? "" };
  if (request.method !== "GET" || !mayGet) {
    const allow = mayGet ? "GET, POST" : "POST";
    throw apiError("method_not_allowed", `${request.method} is not possible at /${rpc.id}, ${allow} is`, { headers: { allow } });
  }
  const parameters = new URLSearchParams(query);
  const message = parameters.get("message") ?? "";
  const contentEncoding = parameters.get("compression");
  return {
    contentType: `application/${parameters.get("encoding") ?? ""}`,
    message: Buffer.from(message, parameters.get("base64") === "1" ? "base64url" : "utf8"),
    ...contentEncoding !== null && { contentEncoding }
  };
}
var WITHHELD = /* @__PURE__ */ new Set(["connect-timeout-ms", "grpc-timeout", "content-length"]);
function forwardedHeaders(request, sent) {
  const headers = new Headers();
  for (const [name, value2] of Object.entries(request.headers)) {
    if (value2 === void 0 || name.startsWith(":") || WITHHELD.has(name)) continue;
    headers.set(name, Array.isArray(value2) ? value2.join(", ") : value2);
  }
  if (sent.message !== void 0) {
    headers.set("content-type", sent.contentType);
    if (sent.contentEncoding !== void 0) headers.set("content-encoding", sent.contentEncoding);
  }
  return headers;
}
async function sendAnswer(answer2, passage, headers) {
  const { call } = passage;
  const { response, signal } = call;
  const body = (answer2.body ?? createAsyncIterable([]))[Symbol.asyncIterator]();
  try {
    let chunk = await body.next();
    if (call.settled) return;
    answer2.header?.forEach((value2, name) => headers[name] = value2);
    response.writeHead(answer2.status, headers);
    for (; chunk.done !== true; chunk = await body.next()) {
      if (call.settled) return;
      if (!response.write(chunk.value)) await unlessSettled(drained(response, signal), call);
    }
    const failure = passage.failure ?? protocolFailure(answer2);
    if (!call.settle(failure?.status ?? answer2.status, failure)) return;
    if (answer2.trailer !== void 0) response.addTrailers(Object.fromEntries(answer2.trailer));
    response.end();
  } finally {
    body.return?.().catch(() => {
    });
  }
}
async function unlessSettled(wait, call) {
  try {
    await wait;
  } catch (error) {
    if (call.settled) throw error;
  }
}
function protocolFailure(answer2) {
  const grpcStatus = answer2.trailer?.get("grpc-status") ?? "0";
  if (answer2.status === 200 && grpcStatus === "0") return void 0;
  return apiError(grpcStatus === String(Code3.Internal) ? "internal" : "request_invalid", "the message could not be read");
}

// proto/http/door.ts
init_errors();
init_limits();
init_listener();
init_request_id();

// proto/http/router.ts
function createNode() {
  return { literals: /* @__PURE__ */ new Map(), ends: /* @__PURE__ */ new Map(), rests: /* @__PURE__ */ new Map() };
}
function createRouter() {
  const root = createNode();
  let customVerbs = false;
  return {
    add(target) {
      customVerbs ||= target.route.customVerb !== void 0;
      insert(root, target);
    },
    find(verb, path, visible) {
      const segments = path.slice(1).split("/");
      const wanted = verb === "HEAD" ? "GET" : verb;
      const search = { wanted, segments, visible, captures: [], allow: /* @__PURE__ */ new Set() };
      const cut = customVerbs ? cutCustomVerb(segments) : void 0;
      const found = (cut === void 0 ? void 0 : descend(root, 0, { ...search, segments: cut.segments }, cut.verb)) ?? descend(root, 0, search, "");
      return found === void 0 ? { allow: sortedVerbs(search.allow) } : { target: found, captures: search.captures };
    }
  };
}
function insert(root, target) {
  let node = root;
  const { segments, customVerb = "", verb, template } = target.route;
  let multi = false;
  for (const segment of segments) {
    if ("literal" in segment) {
      const next = node.literals.get(segment.literal) ?? createNode();
      node.literals.set(segment.literal, next);
      node = next;
    } else if (segment.multi === true) {
      multi = true;
    } else {
      node.variable ??= createNode();
      node = node.variable;
    }
  }
  const table = multi ? node.rests : node.ends;
  const targets = table.get(customVerb) ?? [];
  if (targets.some((other) => other.route.verb === verb)) throw new Error(`two RPCs are served at ${verb} ${template}`);
  targets.push(target);
  table.set(customVerb, targets);
}
function descend(node, at, search, customVerb) {
  const { segments, captures } = search;
  if (at === segments.length) return choose(node.ends, search, customVerb) ?? takeRest(node, at, search, customVerb);
  const segment = segments[at] ?? "";
  const literal = node.literals.get(segment);
  const found = literal === void 0 ? void 0 : descend(literal, at + 1, search, customVerb);
  if (found !== void 0) return found;
  if (node.variable !== void 0 && segment !== "") {
    captures.push(segment);
    const below = descend(node.variable, at + 1, search, customVerb);
    if (below !== void 0) return below;
    captures.pop();
  }
  return takeRest(node, at, search, customVerb);
}
function takeRest(node, at, search, customVerb) {
  const found = choose(node.rests, search, customVerb);
  if (found !== void 0) search.captures.push(search.segments.slice(at).join("/"));
  return found;
}
function choose(table, search, customVerb) {
  let found;
  for (const target of table.get(customVerb) ?? []) {
    if (!search.visible(target.rpc)) continue;
    search.allow.add(target.route.verb);
    if (target.route.verb === search.wanted) found = target;
  }
  return found;
}
function cutCustomVerb(segments) {
  const last = segments[segments.length - 1] ?? "";
  const colon = last.lastIndexOf(":");
  if (colon === -1) return void 0;
  return { segments: [...segments.slice(0, -1), last.slice(0, colon)], verb: last.slice(colon + 1) };
}
var VERB_ORDER = ["GET", "POST", "PUT", "PATCH", "DELETE"];
function sortedVerbs(verbs) {
  return VERB_ORDER.filter((verb) => verbs.has(verb));
}

// proto/http/target.ts
init_errors();
import { BlockList, isIPv6 } from "node:net";
var TARGET = /^[!"$-~]*$/;
function parseTarget(request) {
  let url = request.url ?? "";
  if (!TARGET.test(url)) throw apiError("request_invalid", "the request target holds a character that must be percent-encoded");
  if (!url.startsWith("/")) url = fromAbsolute(url, request.headers.host);
  const mark = url.indexOf("?");
  return mark === -1 ? { path: url, query: "" } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}
function fromAbsolute(url, host) {
  const match = /^https?:\/\/([^/?]+)(.*)$/i.exec(url);
  if (match === null) throw apiError("request_invalid", 'the request target must be a path that begins with "/"');
  const [, authority = "", rest = ""] = match;
  if (host === void 0 || authority.toLowerCase() !== host.toLowerCase()) throw hostConflict();
  return rest.startsWith("/") ? rest : `/${rest}`;
}
function hostConflict() {
  return apiError("request_invalid", "the request names two different hosts");
}
var SINGLE = /* @__PURE__ */ new Set(["host", "authorization", "content-type", "content-length", "content-encoding", "transfer-encoding", "idempotency-key"]);
var SINGLE_LENGTHS = new Set([...SINGLE].map((name) => name.length));
function assertUnambiguous(request) {
  const raw = request.rawHeaders;
  let seen = "";
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? "";
    if (!SINGLE_LENGTHS.has(name.length)) continue;
    const lower = `${name.toLowerCase()};`;
    if (!SINGLE.has(lower.slice(0, -1))) continue;
    if (seen.includes(lower)) throw apiError("request_invalid", `the header ${lower.slice(0, -1)} is given twice`);
    seen += lower;
  }
  const { host } = request.headers;
  const authority = request.headers[":authority"];
  if (typeof authority !== "string") {
    if (host === void 0 && request.httpVersion !== "1.0") throw apiError("request_invalid", "the request names no host");
    return;
  }
  if (host !== void 0 && host.toLowerCase() !== authority.toLowerCase()) throw hostConflict();
}
function addressReader(trustedProxies) {
  if (trustedProxies.length === 0) return socketAddress;
  const trusted = blockList(trustedProxies);
  const isTrusted = (address) => {
    try {
      return trusted.check(address, isIPv6(address) ? "ipv6" : "ipv4");
    } catch {
      return false;
    }
  };
  return (request) => {
    let address = socketAddress(request);
    const forwarded = request.headers["x-forwarded-for"];
    if (forwarded === void 0 || !isTrusted(address)) return address;
    const hops = String(forwarded).split(",").map((hop) => plainAddress(hop.trim()));
    for (let i = hops.length - 1; i >= 0 && isTrusted(address); i--) address = hops[i] ?? address;
    return address;
  };
}
function socketAddress(request) {
  return plainAddress(request.socket.remoteAddress ?? "");
}
function plainAddress(address) {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}
function blockList(ranges) {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    list.addSubnet(address, bits === void 0 ? family === "ipv6" ? 128 : 32 : Number(bits), family);
  }
  return list;
}

// proto/http/transcode.ts
import { create as create3 } from "@bufbuild/protobuf";

// proto/http/json-decode.ts
import { create, fromJson, ScalarType as ScalarType4 } from "@bufbuild/protobuf";

// proto/http/json-scalar.ts
import { ScalarType as ScalarType3 } from "@bufbuild/protobuf";
var FLOAT_MAX = 34028234663852886e22;
var INT64_MIN = -(2n ** 63n);
var INT64_MAX = 2n ** 63n - 1n;
var UINT64_MAX = 2n ** 64n - 1n;
function scalarReader(type) {
  switch (type) {
    case ScalarType3.STRING:
      return readText;
    case ScalarType3.BOOL:
      return readBool;
    case ScalarType3.BYTES:
      return readBytes;
    case ScalarType3.DOUBLE:
      return (value2, path) => readDouble(value2, path, Number.MAX_VALUE);
    case ScalarType3.FLOAT:
      return (value2, path) => readDouble(value2, path, FLOAT_MAX);
    case ScalarType3.INT32:
    case ScalarType3.SINT32:
    case ScalarType3.SFIXED32:
      return (value2, path) => readInteger(value2, path, -2147483648, 2147483647);
    case ScalarType3.UINT32:
    case ScalarType3.FIXED32:
      return (value2, path) => readInteger(value2, path, 0, 4294967295);
    case ScalarType3.INT64:
    case ScalarType3.SINT64:
    case ScalarType3.SFIXED64:
      return (value2, path) => readLong(value2, path, INT64_MIN, INT64_MAX);
    case ScalarType3.UINT64:
    case ScalarType3.FIXED64:
      return (value2, path) => readLong(value2, path, 0n, UINT64_MAX);
  }
}
function textToJson(type, text) {
  switch (type) {
    case ScalarType3.STRING:
    case ScalarType3.BYTES:
      return text;
    case ScalarType3.BOOL:
      return text === "true" ? true : text === "false" ? false : text;
    default:
      if (isLong(type)) return text;
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? Number(text) : text;
  }
}
function isLong(type) {
  return type === ScalarType3.INT64 || type === ScalarType3.UINT64 || type === ScalarType3.SINT64 || type === ScalarType3.FIXED64 || type === ScalarType3.SFIXED64;
}
function readText(value2, path) {
  if (typeof value2 !== "string") throw refuse(path, "type", `expected a string, got ${kindOf(value2)}`);
  const wrong = textProblem(value2);
  if (wrong !== void 0) throw refuse(path, "text", wrong);
  return value2;
}
function readBool(value2, path) {
  if (typeof value2 !== "boolean") throw refuse(path, "type", `expected true or false, got ${shown(value2)}`);
  return value2;
}
function readInteger(value2, path, min, max) {
  if (typeof value2 !== "number") throw refuse(path, "type", `expected a number, got ${shown(value2)}`);
  if (!Number.isInteger(value2)) throw refuse(path, "type", `expected a whole number, got ${value2}`);
  if (value2 < min || value2 > max) throw refuse(path, "range", `${value2} is outside of ${min} to ${max}`);
  return value2 + 0;
}
function readDouble(value2, path, max) {
  if (value2 === "NaN") return Number.NaN;
  if (value2 === "Infinity") return Number.POSITIVE_INFINITY;
  if (value2 === "-Infinity") return Number.NEGATIVE_INFINITY;
  if (typeof value2 !== "number") throw refuse(path, "type", `expected a number, got ${shown(value2)}`);
  if (!(Math.abs(value2) <= max)) throw refuse(path, "range", `the number is too large, at most ${max}`);
  return value2;
}
function readLong(value2, path, min, max) {
  const exact = typeof value2 === "string" && /^-?(0|[1-9]\d{0,19})$/.test(value2) ? BigInt(value2) : Number.isSafeInteger(value2) ? BigInt(value2) : void 0;
  if (exact === void 0) throw refuse(path, "type", `expected a whole number as a string, got ${shown(value2)}`);
  if (exact < min || exact > max) throw refuse(path, "range", `${exact} is outside of ${min} to ${max}`);
  return exact;
}
var BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
function readBytes(value2, path) {
  if (typeof value2 !== "string") throw refuse(path, "type", `expected base64 text, got ${kindOf(value2)}`);
  const padding = value2.endsWith("==") ? 2 : value2.endsWith("=") ? 1 : 0;
  const digits = value2.length - padding;
  if (!BASE64.test(value2) || digits % 4 === 1 || padding > 0 && value2.length % 4 !== 0) {
    throw refuse(path, "base64", `${shown(value2)} is not base64`);
  }
  const bytes = Buffer.from(value2, "base64");
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
var RFC3339 = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;
function parseTimestamp(text) {
  const match = RFC3339.exec(text);
  if (match === null) return void 0;
  const ms = Date.parse(`${match[1]}${match[3]}`);
  if (Number.isNaN(ms) || ms < -621355968e5 || ms > 253402300799e3) return void 0;
  const offset = match[3] === "Z" ? 0 : minutesOf(match[3] ?? "");
  if (new Date(ms + offset * 6e4).toISOString().slice(0, 10) !== match[1]?.slice(0, 10)) return void 0;
  return { seconds: BigInt(ms / 1e3), nanos: Number((match[2] ?? "").padEnd(9, "0")) };
}
function minutesOf(offset) {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return offset.startsWith("-") ? -minutes : minutes;
}

// proto/http/json-decode.ts
var cache3 = /* @__PURE__ */ new WeakMap();
function decoder2(desc) {
  const known = cache3.get(desc);
  if (known !== void 0) return known;
  const decode = wellKnownDecoder(desc) ?? messageDecoder(desc);
  cache3.set(desc, decode);
  return decode;
}
function messageDecoder(desc) {
  let layout;
  return (value2, path = []) => {
    layout ??= layoutOf(desc);
    const message = create(desc);
    decodeFields(layout, message, value2, path);
    return message;
  };
}
function layoutOf(desc) {
  const slots = /* @__PURE__ */ new Map();
  for (const field of desc.fields) {
    const slot = { field, set: fieldSetter(field) };
    slots.set(field.name, slot);
    slots.set(field.jsonName, slot);
  }
  return { slots, mayRepeat: slots.size > desc.fields.length || desc.oneofs.length > 0 };
}
function decodeFields(layout, message, value2, path) {
  const members = asObject(value2, path);
  const seen = layout.mayRepeat ? /* @__PURE__ */ new Set() : void 0;
  for (const key of Object.keys(members)) {
    path.push(key);
    const slot = layout.slots.get(key);
    if (slot === void 0) throw refuse(path, "unknown_field", "is not a field of the request");
    if (seen !== void 0) assertFirst(seen, slot.field, members[key], path);
    slot.set(message, members[key], path);
    path.pop();
  }
}
function assertFirst(seen, field, value2, path) {
  if (seen.has(field)) throw refuse(path, "duplicate_field", "names the same field as another key");
  seen.add(field);
  if (field.oneof === void 0 || value2 === null) return;
  if (seen.has(field.oneof)) throw refuse(path, "oneof", `cannot stand together: one of ${field.oneof.fields.map((f) => f.jsonName).join(", ")} is allowed`);
  seen.add(field.oneof);
}
function fieldSetter(field) {
  const read = fieldReader(field);
  const nullIsValue = takesNull(field);
  const name = field.localName;
  const group = field.oneof?.localName;
  return (message, value2, path) => {
    if (value2 === null && !nullIsValue) return;
    const decoded = read(value2, path);
    if (group === void 0) message[name] = decoded;
    else message[group] = { case: name, value: decoded };
  };
}
function takesNull(field) {
  if (field.fieldKind !== "message" && field.fieldKind !== "enum") return false;
  return field.message?.typeName === "google.protobuf.Value" || field.enum?.typeName === "google.protobuf.NullValue";
}
function fieldReader(field) {
  if (field.fieldKind === "list") return listReader(singleReader(field));
  if (field.fieldKind === "map") return mapReader(field.mapKey, singleReader(field));
  return singleReader(field);
}
function singleReader(field) {
  if (field.message !== void 0) {
    const decode = decoder2(field.message);
    if (isWrapped(field)) return (value2, path) => decode(value2, path).value;
    if (isBareStruct(field)) return (value2, path) => checkTree(asObject(value2, path), path);
    return decode;
  }
  if (field.enum !== void 0) return enumReader(field.enum);
  return scalarReader(field.scalar);
}
function enumReader(desc) {
  if (desc.typeName === "google.protobuf.NullValue") return () => 0;
  const { byName, byNumber, allowed } = enumNames(desc);
  return (value2, path) => {
    const number = typeof value2 === "string" ? byName.get(value2) : value2;
    if (typeof number === "number" && byNumber.has(number)) return number;
    throw refuse(path, "enum", `${shown(value2)} is none of its values: ${allowed}`);
  };
}
function listReader(read) {
  return (value2, path) => {
    if (!Array.isArray(value2)) throw refuse(path, "type", `expected an array, got ${kindOf(value2)}`);
    const items = new Array(value2.length);
    for (let i = 0; i < value2.length; i++) {
      path.push(i);
      if (value2[i] === null) throw refuse(path, "type", "an item must not be null");
      items[i] = read(value2[i], path);
      path.pop();
    }
    return items;
  };
}
function mapReader(keyType, read) {
  const readKey = mapKeyReader(keyType);
  return (value2, path) => {
    const members = asObject(value2, path);
    const map = {};
    for (const key of Object.keys(members)) {
      path.push(key);
      if (members[key] === null) throw refuse(path, "type", "a value must not be null");
      const name = readKey(key, path);
      if (Object.hasOwn(map, name)) throw refuse(path, "duplicate_field", "names the same entry as another key");
      map[name] = read(members[key], path);
      path.pop();
    }
    return map;
  };
}
function mapKeyReader(type) {
  if (type === ScalarType4.STRING) {
    return (key, path) => {
      if (key === "__proto__") throw refuse(path, "map_key", "is not a possible key");
      const wrong = textProblem(key);
      if (wrong !== void 0) throw refuse(path, "text", `the key ${wrong}`);
      return key;
    };
  }
  if (type === ScalarType4.BOOL) {
    return (key, path) => {
      if (key !== "true" && key !== "false") throw refuse(path, "type", "expected the key true or false");
      return key;
    };
  }
  const read = scalarReader(type);
  return (key, path) => {
    if (!/^-?(0|[1-9]\d{0,19})$/.test(key)) throw refuse(path, "type", "expected a whole number as key");
    const number = Number(key);
    return String(read(Number.isSafeInteger(number) ? number : key, path));
  };
}
function wellKnownDecoder(desc) {
  if (!desc.typeName.startsWith("google.protobuf.")) return void 0;
  if (desc.typeName === "google.protobuf.Timestamp") {
    return (value2, path = []) => {
      const time = typeof value2 === "string" ? parseTimestamp(value2) : void 0;
      if (time === void 0) throw refuse(path, "timestamp", `${shown(value2)} is not an RFC 3339 time such as 2026-11-20T12:00:00Z`);
      return create(desc, time);
    };
  }
  return (value2, path = []) => {
    checkTree(value2, path);
    try {
      return fromJson(desc, value2);
    } catch {
      throw refuse(path, "type", `${shown(value2)} is not a ${desc.name}`);
    }
  };
}
function checkTree(value2, path) {
  if (typeof value2 === "string") {
    const wrong = textProblem(value2);
    if (wrong !== void 0) throw refuse(path, "text", wrong);
  } else if (typeof value2 === "object" && value2 !== null) {
    for (const key of Object.keys(value2)) {
      path.push(key);
      if (key === "__proto__") throw refuse(path, "map_key", "is not a possible key");
      checkTree(key, path);
      checkTree(value2[key], path);
      path.pop();
    }
  }
  return value2;
}
function asObject(value2, path) {
  if (typeof value2 === "object" && value2 !== null && !Array.isArray(value2)) return value2;
  throw refuse(path, "type", `expected an object, got ${kindOf(value2)}`);
}

// proto/http/request-fields.ts
import { create as create2 } from "@bufbuild/protobuf";
var namesOf = /* @__PURE__ */ new WeakMap();
function fieldNames(desc) {
  let names = namesOf.get(desc);
  if (names === void 0) {
    names = new Map(desc.fields.flatMap((field) => [[field.name, field], [field.localName, field], [field.jsonName, field]]));
    namesOf.set(desc, names);
  }
  return names;
}
function findField(desc, name) {
  const chain = [];
  let at = desc;
  for (const part of name.split(".")) {
    const field2 = at === void 0 ? void 0 : fieldNames(at).get(part);
    if (field2 === void 0) return void 0;
    chain.push(field2);
    at = field2.fieldKind === "message" ? field2.message : void 0;
  }
  const field = chain.at(-1);
  return field === void 0 ? void 0 : { chain, field, id: chain.map((step) => step.localName).join(".") };
}
var TEXT_MESSAGES = /* @__PURE__ */ new Set(["google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask"]);
function takesText(field) {
  if (field.fieldKind === "map") return false;
  if (field.message === void 0) return true;
  return isWrapped(field) || TEXT_MESSAGES.has(field.message.typeName);
}
function textReader(field) {
  const read = singleReader(field);
  if (field.enum !== void 0) return (text, path) => read(/^-?\d{1,10}$/.test(text) ? Number(text) : text, path);
  const type = isWrapped(field) ? field.message?.fields[0]?.scalar : field.scalar;
  return type === void 0 ? read : (text, path) => read(textToJson(type, text), path);
}
function writeField(message, { chain, field }, value2) {
  let at = message;
  for (const step of chain.slice(0, -1)) at = enter(at, step);
  const name = field.localName;
  if (field.fieldKind === "list") at[name].push(value2);
  else if (field.oneof === void 0) at[name] = value2;
  else at[field.oneof.localName] = { case: name, value: value2 };
}
function enter(at, step) {
  const known = step.oneof === void 0 ? at[step.localName] : oneofValue(at, step);
  if (known !== void 0) return known;
  const made = create2(step.message);
  if (step.oneof === void 0) at[step.localName] = made;
  else at[step.oneof.localName] = { case: step.localName, value: made };
  return made;
}
function oneofValue(at, step) {
  const chosen2 = at[step.oneof?.localName ?? ""];
  return chosen2.case === step.localName ? chosen2.value : void 0;
}
function decodePathText(text, multi, field) {
  if (!text.includes("%")) return text;
  try {
    if (!multi) return decodeURIComponent(text);
    return text.split(/(%2f)/i).map((part) => /^%2f$/i.test(part) ? part : decodeURIComponent(part)).join("");
  } catch {
    throw problem(field, "percent_encoding", "the path holds a % that is not followed by the code of a UTF-8 character");
  }
}
function parseQuery(query) {
  const pairs = [];
  for (const part of query.split("&")) {
    if (part === "") continue;
    const equals = part.indexOf("=");
    const key = decodeQueryText(equals === -1 ? part : part.slice(0, equals), "");
    pairs.push([key, equals === -1 ? "" : decodeQueryText(part.slice(equals + 1), key)]);
  }
  return pairs;
}
function decodeQueryText(text, key) {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw problem(key, "percent_encoding", "the query holds a % that is not followed by the code of a UTF-8 character");
  }
}
function writeQuery(message, desc, pairs, bound) {
  const seen = /* @__PURE__ */ new Set();
  for (const [key, text] of pairs) {
    const found = findField(desc, key);
    const path = key.split(".");
    if (found === void 0) throw refuse(path, "unknown_parameter", "is not a parameter of this request");
    if (bound.has(found.id)) throw refuse(path, "bound_by_path", "is given by the path already");
    const { field } = found;
    if (!takesText(field)) throw refuse(path, "not_a_parameter", `cannot be given in the query; send it in the body where the operation has one`);
    if (field.fieldKind !== "list" && seen.has(found.id)) throw refuse(path, "repeated_parameter", "is given twice and takes one value");
    if (field.oneof !== void 0 && seen.has(field.oneof)) {
      throw refuse(path, "oneof", `cannot stand together: one of ${field.oneof.fields.map((f) => f.jsonName).join(", ")} is allowed`);
    }
    seen.add(found.id);
    if (field.oneof !== void 0) seen.add(field.oneof);
    writeField(message, found, textReader(field)(text, path));
  }
}

// proto/http/transcode.ts
var HTTP_BODY = "google.api.HttpBody";
var JSON_TYPE2 = "application/json; charset=utf-8";
function compileRoute(rpc, route) {
  const { input, output } = rpc.desc;
  const path = compilePath(input, route);
  const bound = new Set(path.map((step) => step.target.id));
  const body = compileBody(input, route);
  return {
    takesJson: route.body !== "" && !body.raw,
    resume: compileResume(rpc),
    decode({ captures, query, body: bytes, contentType }) {
      const message = body.decode(bytes, contentType);
      path.forEach((step, index) => writeField(message, step.target, step.read(captures[index] ?? "")));
      if (query !== "") {
        if (route.body === "*") throw problem(parseQuery(query)[0]?.[0] ?? "", "query_with_body", "this operation takes no query parameters; send it in the body");
        writeQuery(message, input, parseQuery(query), bound);
      }
      return message;
    },
    encode: compileResponse(output, route)
  };
}
function compilePath(input, route) {
  return route.segments.flatMap((segment) => {
    if ("literal" in segment) return [];
    const target = findField(input, segment.field);
    if (target === void 0 || target.field.fieldKind === "list" || !takesText(target.field)) {
      throw new Error(`${route.verb} ${route.template}: {${segment.field}} is not a single field of ${input.typeName}`);
    }
    const read = textReader(target.field);
    return [{ target, read: (capture) => read(decodePathText(capture, segment.multi === true, segment.field), [segment.field]) }];
  });
}
function compileResume({ desc, stream: stream2 }) {
  if (stream2?.resumeField === void 0) return () => {
  };
  const target = findField(desc.input, stream2.resumeField);
  if (target === void 0) throw new Error(`${desc.parent.typeName}/${desc.name}: resume field "${stream2.resumeField}" is not a field of ${desc.input.typeName}`);
  const read = textReader(target.field);
  return (request, lastEventId) => {
    if (lastEventId !== void 0 && lastEventId !== "") writeField(request, target, read(lastEventId, [stream2.resumeField ?? ""]));
  };
}
function compileBody(input, route) {
  if (route.body === "") {
    return {
      raw: false,
      decode(bytes) {
        if (bytes.length > 0) throw problem("", "body_not_allowed", `${route.verb} takes no body here, got ${bytes.length} bytes`);
        return create3(input);
      }
    };
  }
  if (route.body === "*") {
    if (input.typeName === HTTP_BODY) return { raw: true, decode: (data, contentType) => create3(input, { data, contentType: contentType ?? "" }) };
    const decode = decoder2(input);
    return { raw: false, decode: (bytes) => decode(parseJson(bytes)) };
  }
  const field = findField(input, route.body)?.field;
  if (field === void 0 || field.parent !== input) throw new Error(`${route.verb} ${route.template}: body "${route.body}" is not a field of ${input.typeName}`);
  return fieldBody(input, field);
}
function fieldBody(input, field) {
  if (field.fieldKind === "message" && field.message.typeName === HTTP_BODY) {
    return { raw: true, decode: (data, contentType) => create3(input, { [field.localName]: create3(field.message, { data, contentType: contentType ?? "" }) }) };
  }
  const set = fieldSetter(field);
  return {
    raw: false,
    decode(bytes) {
      const message = create3(input);
      if (bytes.length > 0) set(message, parseJson(bytes), []);
      return message;
    }
  };
}
function compileResponse(output, route) {
  const none = { contentType: void 0, body: void 0 };
  const json = (encode) => {
    return (message, status) => status === 204 || status === 304 ? none : { contentType: JSON_TYPE2, body: encode(message) };
  };
  if (route.responseBody !== void 0) {
    const field = findField(output, route.responseBody)?.field;
    if (field === void 0) throw new Error(`${route.verb} ${route.template}: response body "${route.responseBody}" is not a field of ${output.typeName}`);
    return json(fieldEncoder(field));
  }
  if (output.typeName !== HTTP_BODY) return json(encoder(output));
  return (message, status) => {
    const { contentType, data } = message;
    return status === 204 || status === 304 ? none : { contentType: contentType === "" ? "application/octet-stream" : contentType, body: data };
  };
}

// proto/http/door.ts
function createDoor(options) {
  const limits = { ...LIMITS, ...options.limits };
  const pages = new Map(Object.entries(options.pages ?? {}));
  const addressOf = addressReader(options.trustedProxies ?? []);
  const calls = /* @__PURE__ */ new Set();
  const { router, appOf } = buildTables(options.apps);
  const rpcDoor = createRpcDoor(appOf, limits);
  const visible = (rpc) => appOf.get(rpc.id)?.gate(rpc) !== "hidden";
  let closing = false;
  const record = (arrival, protocol, status, error, rpc) => {
    if (error !== void 0 && error.status >= 500 && error.cause !== void 0) {
      options.log.error({ requestId: arrival.requestId, rpc: rpc?.id, err: error.cause }, `${rpc?.id ?? "request"} failed: ${error.code}`);
    }
    options.onCall?.({
      ...rpc !== void 0 && { rpc },
      protocol,
      requestId: arrival.requestId,
      remoteAddress: arrival.remoteAddress,
      method: arrival.request.method ?? "",
      status,
      ...error !== void 0 && { code: error.code },
      ms: performance.now() - arrival.startedMs
    });
  };
  const startCall = (arrival, rpc, protocol) => {
    const { request, response, requestId, remoteAddress, startedMs } = arrival;
    const onSettled = (call2, status, error) => {
      calls.delete(call2);
      record(arrival, protocol, status, error, rpc);
    };
    const call = new ActiveCall({ rpc, protocol, requestId, remoteAddress, request, response, startedMs, onSettled });
    calls.add(call);
    return call;
  };
  const refuse2 = (arrival, error) => {
    replyError(arrival.response, error, arrival.requestId, arrival.headers);
    record(arrival, "rest", error.status, error);
  };
  const serveMatch = (arrival, match, query) => {
    const { rpc, app, codec } = match.target;
    const call = startCall(arrival, rpc, "rest");
    if (app.gate(rpc) !== "open") return failRest(call, arrival.headers, featureDisabled(rpc));
    void serveRest({ call, app, codec, captures: match.captures, query, headers: arrival.headers, limits });
  };
  const servePage = async (arrival, page, { path, query }) => {
    const { request, response, requestId, headers } = arrival;
    try {
      const header = (name) => request.headers[name]?.toString();
      const { status = 200, headers: own, body } = await page({ path, query, requestId, header });
      reply(response, status, Object.assign(headers, own), body);
      record(arrival, "rest", status);
    } catch (error) {
      refuse2(arrival, toApiError(error));
    }
  };
  const route = (arrival) => {
    const { request } = arrival;
    assertUnambiguous(request);
    const target = parseTarget(request);
    const method = request.method ?? "";
    const entry2 = rpcDoor.find(target.path);
    if (entry2 !== void 0 && visible(entry2.rpc)) return serveRpc(arrival, entry2, target.query);
    const page = pages.get(target.path);
    if (page !== void 0) {
      if (method !== "GET" && method !== "HEAD") throw wrongVerb(method, target.path, ["GET", "HEAD"]);
      return void servePage(arrival, page, target);
    }
    const routed = router.find(method, target.path, visible);
    if ("target" in routed && !(method === "HEAD" && isStream(routed.target.rpc))) return serveMatch(arrival, routed, target.query);
    const allow = "target" in routed ? ["GET"] : withHead(routed.allow);
    if (allow.length === 0) throw apiError("not_found", `there is nothing at ${method} ${target.path.slice(0, 200)}`);
    throw wrongVerb(method, target.path, allow);
  };
  const serveRpc = (arrival, entry2, query) => {
    const call = startCall(arrival, entry2.rpc, rpcDoor.protocolOf(arrival.request));
    const disabled = entry2.app.gate(entry2.rpc) !== "open";
    void rpcDoor.serve({ call, entry: entry2, query, headers: arrival.headers, ...disabled && { refusal: featureDisabled(entry2.rpc) } });
  };
  const handler = (request, response) => {
    const inbound = request.headers["x-request-id"];
    const requestId = requestIdOf(typeof inbound === "string" ? inbound : void 0);
    const headers = baseHeaders(requestId, options.hsts === true);
    if (closing && request.httpVersionMajor === 1) headers["connection"] = "close";
    const arrival = { request, response, requestId, remoteAddress: addressOf(request), startedMs: performance.now(), headers };
    try {
      route(arrival);
    } catch (error) {
      refuse2(arrival, toApiError(error));
    }
  };
  const close = async (listener, graceMs) => {
    closing = true;
    listener.drain();
    const stopping = apiError("unavailable", "this process is stopping; call again", { retryAfterMs: 1e3 });
    for (const call of calls) if (isStream(call.rpc)) call.abort(stopping);
    await drained2(calls, graceMs);
    for (const call of calls) call.abort(stopping);
    await drained2(calls, Math.min(1e3, graceMs));
    if (calls.size > 0) options.log.warn({ calls: calls.size }, "calls were cut off at the end of the grace period");
    await listener.destroy();
  };
  return {
    handler,
    async listen({ port, host }) {
      const listener = await listen({ port, host, limits, onRequest: handler });
      let closed;
      return { port: listener.port, close: (graceMs) => closed ??= close(listener, graceMs) };
    }
  };
}
function buildTables(apps) {
  const router = createRouter();
  const appOf = /* @__PURE__ */ new Map();
  for (const app of apps) {
    for (const rpc of app.rpcs) {
      if (appOf.has(rpc.id)) throw new Error(`${rpc.id} is served by two apps of this process`);
      appOf.set(rpc.id, app);
      for (const route of rpc.routes) router.add({ rpc, route, app, codec: compileRoute(rpc, route) });
    }
  }
  return { router, appOf };
}
function isStream(rpc) {
  return rpc.desc.methodKind === "server_streaming";
}
function featureDisabled(rpc) {
  const feature = rpc.feature ?? "";
  return apiError("feature_disabled", `the platform feature ${feature} is disabled on this environment`, { details: { feature } });
}
function wrongVerb(method, path, allow) {
  return apiError("method_not_allowed", `${method} is not possible at ${path.slice(0, 200)}, ${allow.join(", ")} is`, { headers: { allow: allow.join(", ") } });
}
function withHead(allow) {
  return allow[0] === "GET" ? ["GET", "HEAD", ...allow.slice(1)] : allow;
}
async function drained2(calls, ms) {
  const endMs = performance.now() + ms;
  while (calls.size > 0 && performance.now() < endMs) {
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
}

// proto/http/.bench.ts
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import Fastify from "fastify";
process.on("SIGTERM", () => process.exit(0));
var run = create4(SandboxRunSchema, { id: "run_01jd5k0000000000000000000a", teamId: "team_01jd5k0000000000000000000a", purpose: 1, state: 4, reason: 1, exitCode: 0, command: ["echo", "hello world"], envNames: ["A", "B"], network: 1, isolation: 1, limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16777216 }, labels: { a: "b" }, attempt: 1, runnerId: "rnr_1", runnerName: "box", createdAt: timestampFromMs(1795172400123), claimedAt: timestampFromMs(1795172400123), startedAt: timestampFromMs(1795172400123), finishedAt: timestampFromMs(1795172400123), meteredMs: 5, logBytes: 12 });
var which = process.argv[2];
if (which === "door") {
  const door = createDoor({ apps: [{ rpcs: rpcs.filter((r) => r.audience !== "internal"), gate: () => "open", admit: (call) => call.header("authorization"), invoke: async () => run, stream: async function* () {
  } }], log: console });
  const o = await door.listen({ port: 0, host: "127.0.0.1" });
  console.log(o.port);
} else if (which === "fastify") {
  const f = Fastify();
  const plain = JSON.parse(JSON.stringify({ ...run, createdAt: "x", claimedAt: "x", startedAt: "x", finishedAt: "x", $typeName: void 0 }));
  f.get("/sandbox-runs/:id", async () => plain);
  await f.listen({ port: 0, host: "127.0.0.1" });
  console.log(f.server.address().port);
} else if (which === "listener") {
  const { listen: listen2 } = await Promise.resolve().then(() => (init_listener(), listener_exports));
  const { LIMITS: LIMITS2 } = await Promise.resolve().then(() => (init_limits(), limits_exports));
  const l = await listen2({ port: 0, host: "127.0.0.1", limits: LIMITS2, onRequest: (q, r) => {
    r.setHeader("content-type", "application/json");
    r.end("{}");
  } });
  console.log(l.port);
} else {
  const s = createServer((q, r) => {
    r.setHeader("content-type", "application/json");
    r.end("{}");
  });
  s.listen(0, "127.0.0.1", () => console.log(s.address().port));
}
