import { describe, expect, it } from 'vitest';
import { openFilter, type Limits } from './filter.ts';

async function apply(expression: string, json = 'null', limits: Partial<Limits> = {}) {
  const filter = await openFilter(expression, limits);
  try {
    return await filter.apply(json);
  } finally {
    await filter.close();
  }
}

describe('openFilter()', () => {
  it('gives texts apart from other JSON, in order, and numbers as they were', async () => {
    const { results } = await apply(
      '.a, .b, .c',
      '{"a":"x\\ny","b":[1,{"z":null}],"c":12345678901234567890}',
    );
    expect(results).toEqual([{ text: 'x\ny' }, { json: '[1,{"z":null}]' }, { json: '12345678901234567890' }]);
  });

  it('applies the expression to each of several texts, and may print nothing', async () => {
    const { results } = await apply('.id // empty', '{"id":1}\n{}\n{"id":"2"}');
    expect(results).toEqual([{ json: '1' }, { text: '2' }]);
  });

  it.each([
    ['.[', 'syntax error, unexpected end of file at line 1, column 2'],
    ['nothing(1)', 'nothing/1 is not defined at line 1, column 1'],
    ['  ', 'needs an expression'],
    ['.'.padEnd(10_001), 'more than 10000 characters'],
  ])('refuses what is no expression: %#', async (expression, says) => {
    await expect(openFilter(expression)).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringContaining(says) as string,
    });
  });

  it('takes no expression for an option of jq', async () => {
    await expect(openFilter('--version')).rejects.toThrow('version/0 is not defined');
  });

  it('says what went wrong behind the results, and what debug said', async () => {
    const { results, problem } = await apply('1, error("a\\nb")');
    expect([results, problem?.message, problem?.exitCode]).toEqual([[{ json: '1' }], '--jq: a\\nb', 1]);
    expect((await apply('"no" | halt_error')).problem?.message).toBe('--jq: no');
    expect((await apply('debug')).notes).toEqual(['["DEBUG:",null]']);
  });

  it('shows nothing of this process', async () => {
    const { results } = await apply('[env[]] | tostring | contains("/root")');
    const { problem } = await apply('import "/etc/passwd" as $x; $x').catch((error: unknown) => ({
      problem: error as Error,
    }));
    expect(results).toEqual([{ json: 'false' }]);
    expect(problem?.message).toContain('--jq: ');
  });
});

describe('an expression without an end', () => {
  it.each(['range(1e12) | empty', 'def f: f; f', '[range(1e12)] | length'])(
    'is cut off: %s',
    async (endless) => {
      await expect(apply(endless, 'null', { answerMs: 300 })).rejects.toMatchObject({
        code: 'jq_timeout',
        message: '--jq: the expression took more than 300ms',
      });
    },
  );

  it('is cut off when it takes too much memory', async () => {
    await expect(apply('def f: 1 + f; f', 'null', { answerMs: 20_000 })).rejects.toMatchObject({
      code: 'jq_memory',
    });
    await expect(apply('repeat("x" * 100000)', 'null', { memoryBytes: 1 })).rejects.toMatchObject({
      code: 'jq_memory',
      message: '--jq: the expression took more than 1 B of memory',
    });
  });
});
