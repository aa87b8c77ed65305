/**
 * Chooses the database that the demo runs on. Without DATABASE_URL the platform starts its own. With it, that
 * database is used as it is when it is empty or holds what an earlier demo from here set up; one that belongs
 * to another installation is left alone, and the demo makes itself a database beside it.
 */
import { createHash, randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';

const root = new URL('../..', import.meta.url).pathname;

const nothing = async () => undefined;

export async function chooseDatabase(url, temporaryDataDir) {
  if (!url) return { dataDir: temporaryDataDir, words: 'embedded, in its own data folder', drop: nothing };
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    // The keys that seal what is in the database stay here, so that the next demo can read it.
    const dataDir = join(root, '.svc', `demo-${createHash('sha256').update(url).digest('hex').slice(0, 12)}`);
    const [{ taken }] = await sql`select to_regclass('public.settings') is not null as taken`;
    if (!taken || existsSync(join(dataDir, 'bootstrap.json')))
      return { url, dataDir, words: 'the one of DATABASE_URL', drop: nothing };
    const name = `svc_demo_${randomBytes(4).toString('hex')}`;
    await sql.unsafe(`create database ${name}`);
    const beside = new URL(url);
    beside.pathname = `/${name}`;
    return {
      url: beside.href,
      dataDir: temporaryDataDir,
      words: `${name}, beside the one of DATABASE_URL, which belongs to another installation`,
      async drop() {
        const admin = postgres(url, { max: 1, onnotice: () => undefined });
        await admin.unsafe(`drop database if exists ${name} with (force)`);
        await admin.end();
      },
    };
  } finally {
    await sql.end();
  }
}
