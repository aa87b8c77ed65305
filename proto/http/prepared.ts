/**
 * Messages whose JSON is made once and sent many times. Whoever answers the same message to many calls
 * prepares it; the door then sends that text instead of making it again. A prepared message must not be
 * changed any more.
 */
import type { DescMessage, Message, MessageShape } from '@bufbuild/protobuf';
import { encoder } from './json-encode.ts';

const texts = new WeakMap<Message, string>();

/** Returns the text: the very body that the door will send for this message. */
export function prepareJson<D extends DescMessage>(desc: D, message: MessageShape<D>): string {
  const text = encoder(desc)(message);
  texts.set(message, text);
  return text;
}

export function preparedJson(message: Message): string | undefined {
  return texts.get(message);
}
