/**
 * Third-party protos are not kept in the repository: they are written into the ignored folder third_party/
 * before each run of buf, from the npm packages that are pinned anyway, so that nothing has to be fetched
 * from a registry.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { file_buf_validate_validate } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { printProto } from './print-proto.ts';

const GOOGLE_FILES = [
  'google/api/annotations.proto',
  'google/api/field_behavior.proto',
  'google/api/http.proto',
  'google/api/httpbody.proto',
];

/** Writes third_party/ below `root`; files that are already right are left alone. */
export function writeThirdParty(root: string): void {
  const google = dirname(createRequire(import.meta.url).resolve('google-proto-files/package.json'));
  for (const path of GOOGLE_FILES) {
    writeIfChanged(join(root, 'third_party/googleapis', path), readFileSync(join(google, path), 'utf8'));
  }
  const validate = join(root, 'third_party/protovalidate/buf/validate/validate.proto');
  writeIfChanged(validate, printProto(file_buf_validate_validate));
}

function writeIfChanged(path: string, text: string): void {
  let current: string | undefined;
  try {
    current = readFileSync(path, 'utf8');
  } catch {
    // It is not there yet, and is written below.
  }
  if (current === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
