import { create } from '@bufbuild/protobuf';
import { FieldDescriptorProto_Type as Type, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';
import { movableNames, moveImage } from './moved-image.ts';

/** Files by package: each message with the one that it holds. */
function image(files: Readonly<Record<string, Readonly<Record<string, string>>>>) {
  const file = Object.entries(files).map(([name, messages]) => ({
    name: `svc/${name}/v1/${name}.proto`,
    package: `svc.${name}.v1`,
    syntax: 'proto3',
    messageType: Object.entries(messages).map(([message, typeName]) => ({
      name: message,
      field: typeName === '' ? [] : [{ name: 'held', number: 1, type: Type.MESSAGE, typeName }],
    })),
  }));
  return create(FileDescriptorSetSchema, { file });
}

const BEFORE = { high: { Whole: '.svc.high.v1.Part', Part: '.svc.high.v1.Grain', Grain: '' } };
const NOW = { high: { Whole: '.svc.low.v1.Part' }, low: { Part: '.svc.low.v1.Grain', Grain: '' } };
const PART = { old: 'svc.high.v1.Part', new: 'svc.low.v1.Part' };
const GRAIN = { old: 'svc.high.v1.Grain', new: 'svc.low.v1.Grain' };

describe('moveImage()', () => {
  it('moves messages with what refers to them, and imports anew', () => {
    const before = image(BEFORE);
    expect(moveImage(before, image(NOW), [PART, GRAIN])).toEqual([]);
    expect([...movableNames(before)]).toEqual([PART.new, GRAIN.new, 'svc.high.v1.Whole']);
    const [low, high] = before.file;
    expect(low?.messageType[0]?.field[0]?.typeName).toBe('.svc.low.v1.Grain');
    expect(high?.messageType[0]?.field[0]?.typeName).toBe('.svc.low.v1.Part');
    expect([low?.dependency, high?.dependency]).toEqual([[], ['svc/low/v1/low.proto']]);
  });

  it('says where a part of the moves is missing, which would have files import each other', () => {
    expect(moveImage(image(BEFORE), image(NOW), [PART])).toEqual([
      'files import each other after the moves that are listed, so that more must have moved: svc/high/v1/high.proto → svc/low/v1/low.proto → svc/high/v1/high.proto',
    ]);
  });

  it('leaves out what the baseline did not have', () => {
    const before = image(NOW);
    expect(moveImage(before, image(NOW), [PART, GRAIN])).toEqual([]);
    expect(movableNames(before).size).toBe(3);
  });
});
