/**
 * Any text, for property tests: what the unit `binary` of fast-check gives, without the table of all million
 * characters that it makes first.
 */
import fc from 'fast-check';

/** Makes any character but half of a pair. */
const character = fc
  .integer({ min: 0, max: 0x10_f7ff })
  .map((code) => String.fromCodePoint(code < 0xd800 ? code : code + 0x800));

export function anyText(constraints: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string(constraints), fc.string({ ...constraints, unit: character }));
}
