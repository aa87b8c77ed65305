/** Exports the JSON spelling of messages at the documented paths. */
import type { DescMessage, Message } from '@bufbuild/protobuf';
import { decoder } from './json-decode.ts';
import { parseJson } from './json-text.ts';

export { decoder } from './json-decode.ts';
export { encoder } from './json-encode.ts';
export { enumNames } from './enum-names.ts';
export { parseJson, JSON_DEPTH_MAX } from './json-text.ts';

/**
 * Reads a message from JSON text, or from its UTF-8 bytes. Throws ApiError `validation_failed` with the path
 * of what is wrong.
 */
export function decodeText(desc: DescMessage, text: string | Uint8Array): Message {
  return decoder(desc)(parseJson(text));
}
