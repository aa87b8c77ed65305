import { describe, expect, it } from 'vitest';
import { fakeIo, type FakeIoOptions } from '../testing/fake-io.ts';
import { splitGlobals } from './globals.ts';
import { createOutput } from './output.ts';

const rows = [
  { id: 'run_1', state: 'queued', createdAt: '2026-11-20T11:57:00Z' },
  { id: 'run_2', state: 'failed', createdAt: '2026-11-20T10:00:00Z', exitCode: 3 },
];
const columns = ['id', 'state', 'exitCode', 'createdAt'];

function setup(options: FakeIoOptions, ...flags: string[]) {
  const io = fakeIo(options);
  return { io, output: createOutput(io, splitGlobals(flags).globals) };
}

async function* pages(...all: readonly (readonly unknown[])[]): AsyncGenerator<readonly unknown[]> {
  for (const page of all) yield await Promise.resolve(page);
}

describe('a list', () => {
  it('is a table on a terminal', async () => {
    const { io, output } = setup({ terminal: true, env: { NO_COLOR: '1' } });
    expect(await output.rows([rows], columns)).toBe(2);
    expect(io.out()).toBe(
      [
        'ID     STATE   EXIT CODE  CREATED',
        'run_1  queued  -          3m ago',
        'run_2  failed  3          2h ago',
        '',
      ].join('\n'),
    );
  });

  it('has amounts in place of minor units where rows state their currency, for people alone', async () => {
    const statement = { id: 'stm_1', currency: 'usd', decimals: 2, netCents: 30, dueCents: -1_250 };
    const all = [
      statement,
      { ...statement, currency: 'kwd', decimals: 3, netCents: 291_030, dueCents: null },
    ];
    const names = ['id', 'netCents', 'dueCents'];
    const terminal = setup({ terminal: true, env: { NO_COLOR: '1' } });
    await terminal.output.rows([all], names);
    expect(terminal.io.out()).toBe(
      ['ID     NET          DUE', 'stm_1  0.30 USD     -12.50 USD', 'stm_1  291.030 KWD  -', ''].join('\n'),
    );
    const pipe = setup({});
    await pipe.output.rows([all], names);
    expect(pipe.io.out()).toBe('id\tnetCents\tdueCents\nstm_1\t30\t-1250\nstm_1\t291030\t\n');
    const plain = setup({ terminal: true, env: { NO_COLOR: '1' } });
    await plain.output.rows([[{ id: 'mtk_1', estimatedCostCents: 30 }]], ['id', 'estimatedCostCents']);
    expect(plain.io.out()).toContain('ID     ESTIMATED COST CENTS\nmtk_1  30');
  });

  it('has colours on a terminal, and none in a pipe', async () => {
    const terminal = setup({ terminal: true });
    await terminal.output.rows([rows], columns);
    expect(terminal.io.out()).toContain('\u001b[31mfailed\u001b[39m');
    const pipe = setup({});
    await pipe.output.rows([rows], columns);
    expect(pipe.io.out()).not.toContain('\u001b');
  });

  it('is TSV with a header in a pipe, whole and exact, over all pages', async () => {
    const { io, output } = setup({});
    await output.rows(pages([rows[0]], [], [rows[1]]), columns);
    expect(io.out()).toBe(
      'id\tstate\texitCode\tcreatedAt\nrun_1\tqueued\t\t2026-11-20T11:57:00Z\nrun_2\tfailed\t3\t2026-11-20T10:00:00Z\n',
    );
  });

  it('is one JSON array over all pages', async () => {
    const { io, output } = setup({}, '--json');
    await output.rows(pages([rows[0]], [rows[1]]), columns);
    expect(JSON.parse(io.out())).toEqual(rows);
  });

  it('is one line an object as jsonl', async () => {
    const { io, output } = setup({ terminal: true }, '-o', 'jsonl');
    await output.rows(pages([rows[0]], [rows[1]]), columns);
    expect(io.out()).toBe(`${rows.map((row) => JSON.stringify(row)).join('\n')}\n`);
  });

  it('is written page by page', async () => {
    const { io, output } = setup({}, '-o', 'jsonl');
    async function* twoPages() {
      yield [rows[0]];
      expect(io.out()).toContain('run_1');
      yield [rows[1]];
    }
    await output.rows(twoPages(), columns);
    expect.assertions(1);
  });

  it('has amounts of what it holds, in the currency that is stated around them', async () => {
    const { io, output } = setup({ terminal: true, env: { NO_COLOR: '1' } });
    const lines = [{ meter: 'run.runner', netCents: 291_030 }];
    await output.value({ currency: 'kwd', decimals: 3, pendingCents: 10, lines });
    expect(io.out()).toBe(
      [
        'currency  kwd',
        'decimals  3',
        'pending   0.010 KWD',
        'lines 1',
        '  meter   run.runner',
        '  net     291.030 KWD',
        '',
      ].join('\n'),
    );
  });

  it('says so when there is no object, and null where JSON is wanted', async () => {
    const terminal = setup({ terminal: true });
    await terminal.output.value(null);
    expect([terminal.io.out(), terminal.io.err()]).toEqual(['', 'nothing found\n']);
    const pipe = setup({});
    await pipe.output.value(null);
    expect([pipe.io.out(), pipe.io.err()]).toEqual(['', '']);
    const json = setup({}, '--json');
    await json.output.value(null);
    expect(json.io.out()).toBe('null\n');
  });

  it('says so when it is empty, without breaking programs', async () => {
    const terminal = setup({ terminal: true });
    await terminal.output.rows([[]], columns);
    expect([terminal.io.out(), terminal.io.err()]).toEqual(['', 'nothing found\n']);
    const pipe = setup({});
    await pipe.output.rows([[]], columns);
    expect(pipe.io.out()).toBe('id\tstate\texitCode\tcreatedAt\n');
    const json = setup({}, '--json');
    await json.output.rows([], columns);
    expect(json.io.out()).toBe('[]\n');
  });

  it('chooses columns when the contract names none', async () => {
    const { io, output } = setup({});
    await output.rows([[{ nested: {}, state: 'x', id: '1' }]], []);
    expect(io.out()).toBe('id\tstate\n1\tx\n');
  });
});

describe('--json=fields', () => {
  it('keeps the named fields, null where absent', async () => {
    const { io, output } = setup({}, '--json=id,exitCode,limits.cpus');
    await output.value({ id: 'run_1', state: 'queued', limits: { cpus: 1, pids: 2 } });
    expect(JSON.parse(io.out())).toEqual({ id: 'run_1', exitCode: null, limits: { cpus: 1 } });
  });

  it('warns of a field that no answer had', async () => {
    const { io, output } = setup({}, '--json=id,sttae');
    await output.rows([rows], columns);
    expect(io.err()).toBe('svc: warning: the answer holds no field "sttae"; did you mean state?\n');
  });
});

describe('what servers send', () => {
  const hostile = { id: 'x', name: 'a\u001b]0;owned\u0007\u009b2J\u202e' };

  it.each([['table'], ['tsv']])('is harmless in %s', async (format) => {
    const { io, output } = setup({ terminal: true }, '-o', format, '--no-color');
    await output.rows([[hostile]], ['id', 'name']);
    await output.value(hostile);
    expect(io.out()).not.toMatch(/(?![\t\n])\p{Cc}|\u202e/u);
  });

  it('is the same JSON, escaped', async () => {
    const { io, output } = setup({ terminal: true }, '--json');
    await output.value(hostile);
    expect(io.out()).not.toMatch(/(?![\t\n])\p{Cc}|\u202e/u);
    expect(JSON.parse(io.out())).toEqual(hostile);
  });

  it('is harmless as output of a run on a terminal, and untouched in a pipe', async () => {
    const text = '10%\r\u001b[2Jdone\n';
    const terminal = setup({ terminal: true });
    await terminal.output.log('stdout', text);
    expect(terminal.io.out()).toBe('10%\r\\x1b[2Jdone\n');
    const pipe = setup({});
    await pipe.output.log('stdout', text);
    await pipe.output.log('stderr', text);
    expect([pipe.io.out(), pipe.io.err()]).toEqual([text, text]);
  });
});

it('shows progress where somebody watches, and only there', async () => {
  const terminal = setup({ terminal: true });
  await terminal.output.progress('working');
  expect(terminal.io.err()).toBe('working\n');
  const pipe = setup({});
  await pipe.output.progress('working');
  expect(pipe.io.err()).toBe('');
});

describe('ids in a table', () => {
  const ID = 'run_01k9abcdefghjkmnpqrstvwxyz';
  const runs = [[{ id: ID, state: 'succeeded', command: ['sh', '-c', 'echo "hi"'] }]];
  const COLUMNS = ['id', 'state', 'command'];

  it('are as long as tells them apart, and states and commands are there', async () => {
    const io = fakeIo({ terminal: true, columns: 40 });
    await createOutput(io, { json: false, color: false }).rows(runs, COLUMNS);
    expect(io.out()).toContain('run_01k9abcdefgh  succeeded');
    expect(io.out()).not.toContain(ID);
    const near = [[{ id: ID }, { id: `${ID.slice(0, 20)}zzzzzzzzzz` }]];
    const other = fakeIo({ terminal: true });
    await createOutput(other, { json: false }).rows(near, ['id']);
    expect(other.out()).toContain(`${ID.slice(0, 21)}\n`);
  });

  it('stay whole for programs, and where nothing finds them by their beginning', async () => {
    for (const globals of [{ json: false }, { json: true }]) {
      const io = fakeIo();
      await createOutput(io, globals).rows(runs, COLUMNS);
      expect(io.out()).toContain(ID);
    }
    const io = fakeIo({ terminal: true });
    await createOutput(io, { json: false }).rows([[{ id: ID.replace('run', 'zzz') }]], ['id']);
    expect(io.out()).toContain(ID.slice(3));
  });

  it('come with a command as one would type it', async () => {
    const io = fakeIo();
    await createOutput(io, { json: false }).rows(runs, COLUMNS);
    expect(io.out()).toContain(`sh -c 'echo "hi"'`);
  });
});
