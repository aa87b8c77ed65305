/** A database of its own for one benchmark, dropped behind it. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { DATABASE_URL } from '../setup/needs.ts';

export interface FreshDatabase extends AsyncDisposable {
  readonly url: string;
}

export async function freshDatabase(): Promise<FreshDatabase> {
  const admin = postgres(DATABASE_URL, { max: 1, onnotice: () => undefined });
  const name = `svc_bench_${randomBytes(6).toString('hex')}`;
  await admin.unsafe(`create database ${name}`);
  const url = new URL(DATABASE_URL);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}
