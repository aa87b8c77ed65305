/**
 * Lists the sockets that a process listens on, from the kernel's own tables and the inodes of its open files.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** State of a listening TCP socket, and of an unconnected UDP one, which could receive from anybody. */
const TCP_LISTEN = '0A';
const UDP_UNCONNECTED = '07';
/** `__SO_ACCEPTCON` in the flags of /proc/net/unix. */
const UNIX_LISTEN = 0x1_0000;

const INET_TABLES = [
  ['tcp', TCP_LISTEN],
  ['tcp6', TCP_LISTEN],
  ['udp', UDP_UNCONNECTED],
  ['udp6', UDP_UNCONNECTED],
] as const;

export interface OpenSockets {
  total: number;
  listening: string[];
}

export function socketsOf(pid: number): OpenSockets {
  const inodes = socketInodes(pid);
  const listening: string[] = [];
  for (const [table, state] of INET_TABLES) {
    for (const columns of rows(pid, table)) {
      if (inodes.has(columns[9] ?? '') && columns[3] === state) listening.push(`${table} ${columns[1]}`);
    }
  }
  for (const columns of rows(pid, 'unix')) {
    const flags = Number.parseInt(columns[3] ?? '0', 16);
    if (inodes.has(columns[6] ?? '') && (flags & UNIX_LISTEN) !== 0)
      listening.push(`unix ${columns[7] ?? ''}`);
  }
  return { total: inodes.size, listening };
}

function socketInodes(pid: number): Set<string> {
  const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
    } catch {
      return []; // It was closed between the listing and the reading.
    }
  });
  return new Set(inodes);
}

function rows(pid: number, table: string): string[][] {
  const lines = readFileSync(`/proc/${pid}/net/${table}`, 'utf8').split('\n').slice(1);
  return lines.filter((line) => line !== '').map((line) => line.trim().split(/\s+/));
}
