/**
 * The generator says this of the API for the console: collections with their calls, and what is shown of
 * answers. gen/ holds one module of it for each page.
 */
import type { Operation } from '@svc/sdk';

/** Says where an address of the console begins. */
export type At = 'account' | 'team' | 'project' | 'environment' | 'staff';

/** Role of a member in a team, as far as it is more than the least one. */
export type Role = 'developer' | 'admin' | 'owner';

export interface FieldRules {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly [rule: string]: unknown;
}

/** A field that a caller gives. */
export interface FieldSpec {
  /** JSON path in the request, such as `limits.memoryMb`. */
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  /** `text` is a document of many lines. */
  readonly type:
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'enum'
    | 'timestamp'
    | 'map'
    | 'json'
    | 'bytes'
    | 'text';
  readonly values?: readonly string[];
  readonly isRequired?: boolean;
  readonly isRepeated?: boolean;
  readonly isSecret?: boolean;
  /** Words of a command, one after the other. */
  readonly isWords?: boolean;
  readonly rules?: FieldRules;
}

/** A field of an answer. */
export interface ShownSpec {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  /** Kind of its type, such as `timestamp`. */
  readonly type: string;
  readonly isMany?: boolean;
  readonly isSecret?: boolean;
  /** Fields of a message. */
  readonly shown?: readonly ShownSpec[];
}

export interface CallSpec {
  readonly operation: Operation;
  /** Name in the SDK, such as `registries.add`. */
  readonly id: string;
  readonly title: string;
  readonly help: string;
  readonly kind: 'look' | 'act' | 'download' | 'stream';
  readonly fields?: readonly FieldSpec[];
  /** JSON paths of the columns of a list. */
  readonly columns?: readonly string[];
  /** Most items of a page of a list. */
  readonly pageMax?: number;
  /** It is shown of the answer. An act has one only when that holds a secret, which is shown once. */
  readonly answer?: readonly ShownSpec[];
  readonly isDestructive?: boolean;
  readonly isSessionOnly?: boolean;
  /** Least role in the team concerned. Absent: any member's, or it concerns no team. */
  readonly role?: Role;
  readonly feature?: string;
}

export interface Collection {
  /** One of its items, in the words of the API. */
  readonly noun: string;
  readonly idField?: string;
  readonly list: CallSpec;
  readonly get?: CallSpec;
  /** Fields of an item. */
  readonly shown: readonly ShownSpec[];
  readonly acts: readonly CallSpec[];
  readonly itemActs: readonly CallSpec[];
}

export interface ServicePage {
  readonly acts: readonly CallSpec[];
}

/** A collection without what its page alone needs. */
export interface Entry {
  readonly key: string;
  readonly at: At;
  /** Below its place, or below the item that it is a part of. */
  readonly segments: readonly string[];
  readonly title: string;
  readonly area: string;
  /** Route of its list. */
  readonly path: string;
  readonly itemPath?: string;
  readonly idField?: string;
  /** Least role that sees the list. */
  readonly role?: Role;
  readonly feature?: string;
  /** Key of the collection of whose items this is a part. */
  readonly parent?: string;
  readonly load: () => Promise<Collection>;
}

export interface PageEntry {
  readonly key: string;
  readonly at: At;
  readonly title: string;
  readonly calls: readonly string[];
  readonly load: () => Promise<ServicePage>;
}
