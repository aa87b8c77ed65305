import { beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../test/setup/database.ts';
import { freePorts } from '../test/faults/free-ports.ts';
import { startSmtp } from '../test/setup/mail/smtp.ts';
import { AMQP_URL, has } from '../test/setup/needs.ts';
import { startPooler } from '../test/setup/pooler.ts';
import { useServer } from '../test/setup/use-server.ts';
import { useFolder } from '../test/setup/use-folder.ts';
import { readConfig } from './config.ts';
import { examine } from './doctor.ts';

const [hasBroker, hasPooler] = [await has('rabbitmq'), await has('pgbouncer')];

describe.skipIf(!(await has('postgres')))('doctor', () => {
  const folder = useFolder();
  const { server } = useServer();
  /** Nobody listens there. */
  let closed = 0;
  beforeAll(async () => {
    [closed = 0] = await freePorts(1);
  });

  const examined = async (env: Readonly<Record<string, string>>) => {
    let text = '';
    const given = { DATABASE_URL: server.databaseUrl, DATA_DIR: server.dataDir, ...env };
    const isWell = await examine(readConfig(given), (line) => (text += line));
    return { isWell, lines: text.split('\n').filter((line) => line !== '') };
  };
  const wrong = ({ lines }: { readonly lines: readonly string[] }) =>
    lines.filter((line) => line.startsWith('wrong'));

  it('finds nothing at a server that is well, and says what it has looked at', async () => {
    const { isWell, lines } = await examined({});
    expect(lines).toEqual([
      expect.stringMatching(/^ok +database +.+ is a primary$/),
      expect.stringMatching(/^ok +session +DATABASE_URL keeps its sessions$/),
      expect.stringMatching(/^ok +role +.+ works as svc_work, with time limits$/),
      expect.stringMatching(/^ok +synchronous +there is no standby/),
      expect.stringMatching(/^ok +clock +\d+ ms apart/),
      expect.stringMatching(/^ok +installation +ins_[0-9a-f]{32}$/),
      expect.stringMatching(/^ok +generation +0, of this history/),
      expect.stringMatching(/^ok +keys +.+ the one of this installation$/),
      expect.stringMatching(/^(ok|note) +registry +/),
      expect.stringMatching(/^ok +broker +the queue is in the process/),
    ]);
    expect(isWell).toBe(true);
  });

  it('names hosts that are not there, and goes on with the others', async () => {
    const url = new URL(server.databaseUrl);
    const both = `postgres://${url.username}@127.0.0.1:${closed},${url.host}${url.pathname}`;
    const found = await examined({ DATABASE_URL: both, AMQP_URL: `amqp://127.0.0.1:${closed}` });
    expect(found.isWell).toBe(false);
    expect(wrong(found)).toEqual([
      expect.stringMatching(/database +connect ECONNREFUSED .+ → see that it runs/),
      // Two hosts are named, and commits wait for none.
      expect.stringMatching(/synchronous +commits do not wait .+ → .+synchronous_standby_names/),
      expect.stringMatching(/broker +connect ECONNREFUSED .+ → see that this node runs/),
    ]);
  });

  it('names the setting that leads to another database, and looks no further', async () => {
    const other = await createEmptyDatabase();
    for (const setting of ['LISTEN_DATABASE_URL', 'REPLICA_URL'] as const) {
      const found = await examined({ [setting]: other.url });
      expect(wrong(found)).toEqual([
        expect.stringMatching(
          new RegExp(`same place +${setting} leads to another database .+ → without it no server`),
        ),
      ]);
      const well = await examined({ [setting]: server.databaseUrl });
      expect(well.lines).toContainEqual(
        expect.stringMatching(new RegExp(`^ok +same place +${setting} leads to the same`)),
      );
    }
    await other.drop();
  });

  it.skipIf(!hasBroker)('asks each node of the broker', async () => {
    const { host } = new URL(AMQP_URL);
    const found = await examined({ AMQP_URL: `amqp://${host},127.0.0.1:${closed}` });
    expect(found.lines.at(-2)).toMatch(/^ok +broker +.+ answers$/);
    expect(wrong(found)).toEqual([expect.stringContaining('see that this node runs')]);
  });

  it('greets the mail server, and says nothing of mail where none is set', async () => {
    const smtp = await startSmtp();
    const mailed = (port: number) => ({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'svc@example.net' });
    const found = await examined(mailed(smtp.port));
    expect(found.lines.at(-1)).toMatch(/^ok +mail +127\.0\.0\.1:\d+ greets$/);
    expect(smtp.mails).toEqual([]);
    await smtp.stop();
    expect(wrong(await examined(mailed(closed)))).toEqual([
      expect.stringMatching(/mail +.*ECONNREFUSED.* → see that the mail server of SMTP_URL/),
    ]);
    expect((await examined({})).lines.join()).not.toContain('mail');
  });

  it('finds the key of another installation, and none', async () => {
    const other = await examined({ SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') });
    expect(wrong(other)).toEqual([
      expect.stringMatching(/keys +this database was set up with .+ → set SECRETS_KEY/),
    ]);
    expect(wrong(await examined({ DATA_DIR: folder }))).toEqual([
      expect.stringMatching(/keys +no SECRETS_KEY and none in .+ → set SECRETS_KEY/),
    ]);
  });

  it('says of a database before the first start that it is empty', async () => {
    const empty = await createEmptyDatabase();
    const found = await examined({ DATABASE_URL: empty.url });
    expect(found.lines).toContainEqual(expect.stringMatching(/^ok +tables +none yet/));
    expect(found.isWell).toBe(true);
    await empty.drop();
  });

  it.skipIf(!hasPooler)('says what to set where a pooler keeps no sessions', async () => {
    const pooler = await startPooler('transaction');
    const found = await examined({ DATABASE_URL: pooler.through(server.databaseUrl) });
    expect(wrong(found)).toEqual([expect.stringMatching(/session +.+\(transaction mode\).+pool_mode/)]);
    await pooler.stop();
  });
});
