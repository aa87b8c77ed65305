/**
 * Serves google.api.HttpBody: over REST its bytes are the body, as they are and of the content type that the
 * message states.
 */
import type { DescMessage, Message } from '@bufbuild/protobuf';

export type HttpBody = Message & { readonly contentType: string; readonly data: Uint8Array };

export function isHttpBody(desc: DescMessage): boolean {
  return desc.typeName === 'google.api.HttpBody';
}

export function contentTypeOf({ contentType }: HttpBody): string {
  return contentType === '' ? 'application/octet-stream' : contentType;
}
