import type { NginxLogLine } from './gen/index.ts';

/**
 * Writes a line of `environments.nginxLogs` for people, without its time: `203.0.113.0 GET
 * app.example.com/search?… 200 612 B 12 ms curl/8` of the access log, `error: no live upstreams` of the log
 * of errors.
 */
export function nginxLineText(line: NginxLogLine): string {
  const { remote, method, host = '', path = '', status, bytes, durationMs, userAgent, level, text } = line;
  if (text !== undefined) return level === undefined ? text : `${level}: ${text}`;
  return [
    remote,
    method,
    `${host}${path}`,
    status,
    bytes === undefined ? undefined : `${bytes} B`,
    durationMs === undefined ? undefined : `${durationMs} ms`,
    userAgent,
  ]
    .filter((part) => part !== undefined && part !== '')
    .join(' ');
}
