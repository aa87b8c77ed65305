import { describe, expect, it } from 'vitest';
import { readText, textOf } from './document-text.ts';

const LONG =
  "artifacts.all(a, a.attestations.exists(t, t.predicateType == 'https://slsa.dev/provenance/v1' && t.verified))";

describe('the text of a document', () => {
  it('says the same when it is read, in the order that people write', () => {
    const document = {
      overridable: true,
      rules: [
        { id: 'one', message: 'true', require: LONG },
        { id: 'two', message: 'a: "b" # c', require: '!a\n&& b' },
      ],
      mode: 'enforce',
      on: ['promotion.approve', 'deploy'],
    };
    const text = textOf(document);
    expect(text).toMatch(/^on: \[promotion\.approve, deploy\]\nmode: enforce\noverridable: true\nrules:\n/);
    expect(text.split('\n').every((line) => line.length <= 120)).toBe(true);
    expect(readText(text)).toMatchObject({ document });
  });

  it.each([
    ['nothing', ' ', 'the document is empty'],
    ['a list', '- a', 'an object is expected'],
    ['too much', `# ${'ä'.repeat(32_768)}`, 'at most 65,536 bytes, got 65,538'],
    ['no YAML', 'a: [', 'not YAML'],
  ])('is refused where it is %s', (_what, text, said) => {
    expect(readText(text)).toMatchObject({ problem: { message: expect.stringContaining(said) } });
  });
});
