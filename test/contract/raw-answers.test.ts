/**
 * Follows answers of raw bytes from end to end: a contract whose RPCs answer google.api.HttpBody, through the
 * generator, the door on a real socket, the SDK's client and the command line. The contract is one of the
 * generator's fixtures.
 */
import { create, type Message } from '@bufbuild/protobuf';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { svc as session, type Outcome } from '../../cli/testing/session.ts';
import type { FakeIoOptions } from '../../cli/testing/fake-io.ts';
import { HttpBodySchema } from '../../proto/gen/google/api/httpbody_pb.ts';
import type { CallContext } from '../../proto/http/call.ts';
import { apiError } from '../../proto/http/errors.ts';
import { openDoor, testApp, type TestDoor } from '../../proto/http/testing/app.ts';
import { Client, SvcConnectionError } from '../../sdk/index.ts';
import type { Operation } from '../../sdk/core/operation.ts';

const contract = await vi.hoisted(async () => {
  const { buildModel } = await import('../../proto/generators/build-model.ts');
  const { loadImage } = await import('../../proto/generators/image.ts');
  const { rpcsOf } = await import('../../proto/http/contract.ts');
  const { printedGroups } = await import('./printed-tables.ts');
  const { createFixtureWorkspace } = await import('../../proto/generators/testdata/workspace.ts');
  const workspace = createFixtureWorkspace();
  try {
    const model = buildModel(await loadImage(workspace.root));
    const rpcs = rpcsOf(model.services.flatMap(({ name, desc }) => (name === 'FilesService' ? [desc] : [])));
    const groups = await printedGroups(model, ['files']);
    return { rpcs, groups, commands: (await Promise.all(groups.map(({ load }) => load()))).flat() };
  } finally {
    workspace.remove();
  }
});

vi.mock('../../cli/gen/index.ts', () => ({ areas: [], groups: contract.groups }));

const operationOf = (word: string): Operation => {
  const found = contract.commands.find(({ words }) => words[0] === word)?.operation;
  if (found === undefined) throw new Error(`no command "${word}"`);
  return found;
};

const BYTES = Buffer.from(Array.from({ length: 200_000 }, (_unused, index) => (index * 31) % 256));
const PIECE_BYTES = 30_000;
let contentType = 'application/zip';
const raw = (data: Uint8Array): Message => create(HttpBodySchema, { contentType, data });
const nameOf = (request: Message): string => (request as Message & { name: string }).name;

async function* pieces(_call: CallContext, request: Message): AsyncIterable<Message> {
  for (let at = 0; at < BYTES.length; at += PIECE_BYTES) {
    if (nameOf(request) === 'broken' && at > 0) throw apiError('unavailable', 'the disk is gone');
    yield raw(BYTES.subarray(at, at + PIECE_BYTES));
  }
}

let door: TestDoor;
let folder: string;
let file: string;
beforeAll(async () => {
  const answers = {
    invoke: (_call: CallContext, request: Message) => {
      if (nameOf(request) === 'missing') throw apiError('not_found', 'no such file');
      return raw(BYTES);
    },
    stream: pieces,
  };
  door = await openDoor(answers, { apps: [testApp(answers, contract.rpcs)] });
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-raw-'));
  file = join(folder, 'answer.zip');
});
afterEach(async () => {
  contentType = 'application/zip';
  await rm(folder, { recursive: true });
});
afterAll(() => door.open.close(0));

function svc(line: string, options: FakeIoOptions = {}): Promise<Outcome> {
  const env = { SVC_BASE_URL: door.url, ...options.env };
  return session({ url: door.url }, line, { ...options, env });
}

describe('the SDK', () => {
  it('answers bytes, whole and piece by piece', async () => {
    const client = new Client({ baseUrl: door.url });
    const { data, response } = await client.bytes(operationOf('read'), { name: 'a' }).withResponse();
    expect(Buffer.from(data).equals(BYTES)).toBe(true);
    expect(response.headers.get('content-type')).toBe('application/zip');
    const stream = client.byteStream(operationOf('follow'), { name: 'a' });
    expect(await stream.contentType()).toBe('application/zip');
    const taken: Uint8Array[] = [];
    await stream.forEach((chunk) => taken.push(chunk));
    expect(Buffer.concat(taken).equals(BYTES)).toBe(true);
  });

  it('fails when the stream does not come to its end', async () => {
    const client = new Client({ baseUrl: door.url });
    const failing = client.byteStream(operationOf('follow'), { name: 'broken' }).forEach(() => undefined);
    await expect(failing).rejects.toThrow(SvcConnectionError);
  });
});

describe('the command line', () => {
  it.each(['read', 'follow'])('writes the answer of "%s" to the file of --output', async (word) => {
    const { code, out, err } = await svc(`files ${word} a --output ${file}`, { terminal: true });
    expect({ code, out, err }).toEqual({ code: 0, out: '', err: `${file}: ${BYTES.length} bytes\n` });
    expect((await readFile(file)).equals(BYTES)).toBe(true);
    expect(await readdir(folder)).toEqual(['answer.zip']);
  });

  it('writes it to standard output otherwise', async () => {
    const { code, out } = await svc('files read a');
    expect(code).toBe(0);
    expect(Buffer.from(out, 'latin1').equals(BYTES)).toBe(true);
  });

  it('leaves nothing of an answer that broke off, nor of one that was refused', async () => {
    const broken = await svc(`files follow broken -o ${file}`);
    expect(broken.code).toBe(7);
    expect(await readdir(folder)).toEqual([]);
    expect(await svc(`files read missing -o ${file}`)).toMatchObject({ code: 5 });
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps the old file when the new one breaks off', async () => {
    await writeFile(file, 'old');
    expect(await svc(`files follow broken -o ${file} --yes`)).toMatchObject({ code: 7 });
    expect(await readFile(file, 'utf8')).toBe('old');
    expect(await readdir(folder)).toEqual(['answer.zip']);
  });

  it('replaces a file when somebody says so, and not otherwise', async () => {
    await writeFile(file, 'old');
    const refused = await svc(`files read a -o ${file}`);
    expect(refused).toMatchObject({ code: 2, out: '' });
    expect(refused.err).toContain('add --yes to replace it');
    const declined = await svc(`files read a -o ${file}`, { terminal: true, answers: ['n'] });
    expect(declined).toMatchObject({ code: 1 });
    expect(declined.io.questions).toEqual([`${file} is there already. Replace it? [y/N] `]);
    expect(await readFile(file, 'utf8')).toBe('old');
    expect(await svc(`files read a -o ${file}`, { terminal: true, answers: ['y'] })).toMatchObject({
      code: 0,
    });
    expect((await readFile(file)).equals(BYTES)).toBe(true);
  });

  it('does not write into the part of another download, nor over a folder', async () => {
    await writeFile(`${file}.part`, 'of another one');
    const refused = await svc(`files read a -o ${file}`);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.err).toContain('another download is writing it');
    expect(await readFile(`${file}.part`, 'utf8')).toBe('of another one');
    expect(await svc(`files read a -o ${folder}`)).toMatchObject({ code: 2 });
  });

  it('spares a terminal bytes that are no text, unless told', async () => {
    const refused = await svc('files read a', { terminal: true });
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('application/zip');
    expect(await svc('files read a -o -', { terminal: true })).toMatchObject({ code: 0 });
    contentType = 'text/plain';
    const shown = await svc('files read a', { terminal: true });
    expect(shown.code).toBe(0);
    expect(shown.out).toContain('\\x1b');
    expect(shown.out).not.toContain('\x1b');
  });

  it('has no other format', async () => {
    const refused = await svc('files read a --json');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain('answers bytes as they are, not JSON');
    expect((await svc('files read --help')).out).toContain('With --output <file>');
  });
});
