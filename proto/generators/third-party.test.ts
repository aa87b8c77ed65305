import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DescFile, type JsonObject, type JsonValue, createRegistry, toJson } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, file_google_protobuf_duration } from '@bufbuild/protobuf/wkt';
import { file_buf_validate_validate } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadImage } from './image.ts';
import { printProto } from './print-proto.ts';
import { createWorkspace, REPOSITORY, type Workspace } from './testdata/workspace.ts';
import { writeThirdParty } from './third-party.ts';

let workspace: Workspace;
beforeAll(() => {
  workspace = createWorkspace();
});
afterAll(() => workspace.remove());

/**
 * As JSON, options decoded, so that a difference can be read. The syntax is spelled out in one and implied in
 * the other.
 */
function asJson(file: DescFile): JsonValue {
  const {
    syntax: _syntax,
    sourceCodeInfo: _comments,
    ...rest
  } = toJson(FileDescriptorProtoSchema, file.proto, {
    registry: createRegistry(file_buf_validate_validate),
  }) as JsonObject;
  return rest;
}

describe('printProto()', () => {
  it('prints buf/validate/validate.proto so that it compiles to the descriptor it was made of', async () => {
    const compiled = (await loadImage(workspace.root)).getFile('buf/validate/validate.proto');
    if (!compiled) throw new Error('buf/validate/validate.proto is not in the image');
    const [want, got] = [asJson(file_buf_validate_validate), asJson(compiled)];
    expect(JSON.stringify(want).length).toBeGreaterThan(50_000);
    expect(got).toEqual(want);
  });

  it('prints a proto3 file of plain messages', () => {
    const text = printProto(file_google_protobuf_duration);
    expect(text).toContain('syntax = "proto3";\npackage google.protobuf;');
    expect(text).toContain('message Duration {\n  int64 seconds = 1;\n  int32 nanos = 2;\n}');
  });
});

describe('writeThirdParty()', () => {
  it('leaves files alone that are right, and mends those that are not', () => {
    const path = join(workspace.root, 'third_party/googleapis/google/api/http.proto');
    const before = statSync(path).mtimeMs;
    writeThirdParty(workspace.root);
    expect(statSync(path).mtimeMs).toBe(before);
    const text = readFileSync(path, 'utf8');
    workspace.write('third_party/googleapis/google/api/http.proto', 'broken');
    writeThirdParty(workspace.root);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

describe('installed packages', () => {
  it('hold one copy of @bufbuild/protobuf: two would not know each other’s messages', () => {
    const lock: { packages: Record<string, unknown> } = JSON.parse(
      readFileSync(join(REPOSITORY, 'package-lock.json'), 'utf8'),
    );
    const copies = Object.keys(lock.packages).filter((path) =>
      path.endsWith('node_modules/@bufbuild/protobuf'),
    );
    expect(copies).toEqual(['node_modules/@bufbuild/protobuf']);
  });
});
