/** Makes ids for examples: the comments of the contract say with which prefix each kind of thing begins. */
import type { FieldModel, Model } from './model.ts';

export interface IdExamples {
  /** The id of a comment that shows one: "Build id, `bld_…`". */
  named(comment: string): string | undefined;
  /** The id of what a field refers to by its name: `build_id`. */
  of(field: FieldModel): string | undefined;
}

/** A UUID of version 7 in the base 32 of Crockford, as ids have it. */
const REST = '01kf3m9a7ve4tbq2h8n6wxy5zd';
const PREFIX = /`([a-z]{2,6}_)…`/;

export function createIdExamples(model: Model): IdExamples {
  const named = (comment: string): string | undefined => {
    const prefix = PREFIX.exec(comment)?.[1];
    return prefix === undefined ? undefined : `${prefix}${REST}`;
  };
  // Two packages may have a "run": one's own counts first, then whose whole name it is, then the first.
  const own = new Map<string, string>();
  const whole = new Map<string, string>();
  const ends = new Map<string, string>();
  const add = (ids: Map<string, string>, noun: string, id: string): unknown =>
    ids.has(noun) || ids.set(noun, id);
  for (const message of model.messages) {
    const id = named(message.fields.find(({ name }) => name === 'id')?.comment ?? '');
    if (id === undefined) continue;
    const words = snake(message.name).split('_');
    add(whole, words.join('_'), id);
    for (let from = 0; from < words.length; from += 1) {
      const noun = words.slice(from).join('_');
      add(own, `${message.package}.${noun}`, id);
      add(ends, noun, id);
    }
  }
  // Some kinds of things have no message with an id of their own.
  for (const field of model.messages.flatMap(({ fields }) => fields)) {
    const id = named(field.comment);
    if (id !== undefined && field.name.endsWith('_id')) add(ends, field.name.slice(0, -'_id'.length), id);
  }
  return {
    named,
    of: (field) => {
      if (!/_ids?$/.test(field.name)) return undefined;
      const { file } = field.desc.parent;
      const words = field.name.split('_').slice(0, -1);
      for (let from = 0; from < words.length; from += 1) {
        const noun = words.slice(from).join('_');
        const id = own.get(`${file.proto.package}.${noun}`) ?? whole.get(noun) ?? ends.get(noun);
        if (id !== undefined) return id;
      }
      return undefined;
    },
  };
}

function snake(name: string): string {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase();
}
