import type { NginxLogLine } from './gen/index.ts';

/**
 * Writes a line of `environments.nginxLogs` for people, without its time: `200 GET app.example.com/search?…
 * 12 ms 612 B 203.0.113.0 curl/8` of the access log, `error: no live upstreams` of the log of errors.
 */
export function nginxLineText(line: NginxLogLine): string {
  const { remote, method, host = '', path = '', status, bytes, durationMs, userAgent, level, text } = line;
  if (text !== undefined) return level === undefined ? text : `${level}: ${text}`;
  return [
    status,
    method,
    `${host}${path}`,
    durationMs === undefined ? undefined : `${durationMs} ms`,
    bytes === undefined ? undefined : `${bytes} B`,
    remote,
    userAgent,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}
