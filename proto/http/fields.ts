import type { Message } from '@bufbuild/protobuf';

/** The fields of a message by their local names, for code that goes by descriptors and not by types. */
export type Fields = Record<string, unknown>;

/** Returns the message itself. */
export const fieldsOf = (message: Message): Fields => message as unknown as Fields;
