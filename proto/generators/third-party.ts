/**
 * Third-party protos are not kept in the repository: they are printed into the ignored folder third_party/
 * before each run of buf, from descriptors that are there anyway, so that nothing has to be fetched. Those of
 * Google's API options are in the generated code itself; they have not changed for years.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DescFile } from '@bufbuild/protobuf';
import { file_buf_validate_validate } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { file_google_api_annotations } from '../gen/google/api/annotations_pb.ts';
import { file_google_api_field_behavior } from '../gen/google/api/field_behavior_pb.ts';
import { file_google_api_http } from '../gen/google/api/http_pb.ts';
import { file_google_api_httpbody } from '../gen/google/api/httpbody_pb.ts';
import { printProto } from './print-proto.ts';

const NOTICE =
  '// Licensed under the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0).\n\n';
const FILES: Readonly<Record<string, readonly DescFile[]>> = {
  googleapis: [
    file_google_api_annotations,
    file_google_api_field_behavior,
    file_google_api_http,
    file_google_api_httpbody,
  ],
  protovalidate: [file_buf_validate_validate],
};

/** Writes third_party/ below `root`; files that are already right are left alone. */
export function writeThirdParty(root: string): void {
  for (const [module, files] of Object.entries(FILES))
    for (const file of files)
      writeIfChanged(join(root, 'third_party', module, `${file.name}.proto`), NOTICE + printProto(file));
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
