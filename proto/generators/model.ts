/**
 * The contracts as the printers see them: one descriptor pass makes this model, every printer reads it and
 * nothing else. Plain data, in the order of the sources; a printer that needs another order sorts for itself.
 */
import type { DescEnum, DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf';
import type { Audience, Auth, Idempotency, RestRoute, Role } from '../http/rpc.ts';

export { ANONYMOUS_AUTHS, ANONYMOUS_BODY_BYTES_MAX } from '../http/bounds.ts';

export interface Model {
  /** The closed lists of options.proto, in their order. */
  readonly areas: readonly EnumValueModel[];
  readonly scopes: readonly EnumValueModel[];
  /** Sorted by type name. */
  readonly services: readonly ServiceModel[];
  /** Every message and enum that an RPC reaches, sorted by type name. */
  readonly messages: readonly MessageModel[];
  readonly enums: readonly EnumModel[];
}

export interface ServiceModel {
  readonly desc: DescService;
  /** `svc.runners.v1.RunnersService` */
  readonly typeName: string;
  /** `RunnersService` */
  readonly name: string;
  readonly comment: string;
  readonly summary: string;
  readonly audience: Audience;
  /** Area of the service; it is absent for internal services alone. */
  readonly area?: EnumValueModel;
  /** Place in the SDK: `sdk.<property>`, made by the class of that name. Absent: not in the SDK. */
  readonly sdk?: { readonly property: string; readonly className: string };
  /** CLI command group. Absent: not in the CLI. */
  readonly cliGroup?: string;
  readonly rpcs: readonly RpcModel[];
}

export interface RpcModel {
  readonly desc: DescMethod;
  /** `svc.runners.v1.RunnersService/List` */
  readonly id: string;
  /** `List` */
  readonly name: string;
  readonly service: ServiceModel;
  readonly comment: string;
  readonly deprecated: boolean;
  readonly request: MessageModel;
  readonly response: MessageModel;
  readonly serverStreaming: boolean;
  /** The answer is bytes (google.api.HttpBody), not JSON. */
  readonly raw: boolean;
  readonly auth: Auth;
  /** Also takes id_tokens of CI jobs. */
  readonly idTokens: boolean;
  /** JSON spelling: `runner:read`. */
  readonly scope?: string;
  /** The contract says that no scope is needed. */
  readonly noScope: boolean;
  /** It takes no API key. */
  readonly sessionOnly: boolean;
  /** Request fields that no API key may set. */
  readonly sessionFields: readonly FieldModel[];
  readonly role?: Role;
  /** No agent may call it. */
  readonly noAgents: boolean;
  /** An agent calls it with the approval of a person alone. */
  readonly approval?: { readonly action: string; readonly resource: FieldModel };
  /** Least role in the team concerned that may call it. Absent: it concerns no team, or its scope no role. */
  readonly leastRole?: Role;
  readonly feature?: string;
  /** Answered while the feature is off, without an effect. */
  readonly inertWhenOff: boolean;
  /** Text field of the response without which the answer is an empty object. */
  readonly emptyWithout?: FieldModel;
  readonly idempotency?: Idempotency;
  readonly successStatus: number;
  readonly timeoutMs: number;
  readonly bodyBytesMax: number;
  readonly stability: Stability;
  readonly destructive: boolean;
  readonly examples: readonly ExampleModel[];
  /** Columns of the CLI table: JSON paths in a response item. */
  readonly columns: readonly string[];
  readonly page?: PageModel;
  /** It is the field with the items of a list that goes by numbers of pages. */
  readonly numbered?: FieldModel;
  readonly stream?: { readonly idField?: FieldModel; readonly resumeField?: FieldModel };
  /** Primary route first; empty for internal RPCs. */
  readonly routes: readonly RouteModel[];
  /** Method of the SDK; it is absent where the RPC is not in it. */
  readonly sdk?: SdkMethodModel;
  /** Command of the CLI; it is absent where the RPC is not in it. */
  readonly cli?: CliCommandModel;
}

export type Stability = 'stable' | 'preview' | 'experimental';

export interface ExampleModel {
  readonly title: string;
  readonly cli?: string;
  readonly sdk?: string;
}

export interface PageModel {
  readonly items: FieldModel;
  readonly defaultLimit: number;
  readonly maxLimit: number;
}

export interface RouteModel {
  /** Route as it is served: the body by its local field name. */
  readonly route: Pick<RestRoute, 'verb' | 'body'>;
  /** `/teams/{teamId}/runners/{runnerId}`, as documented: JSON field names. */
  readonly jsonPath: string;
  /** Two routes with the same verb and shape would take the same requests. */
  readonly shape: string;
  /** Request fields bound by the path, in path order. */
  readonly pathFields: readonly FieldModel[];
  /** Request fields of the query string; beside a body `*`, those that may be given there too. */
  readonly queryFields: readonly FieldModel[];
  /**
   * Request fields inside the JSON body object; with `bodyField` set, that field's own message is the body.
   */
  readonly bodyFields: readonly FieldModel[];
  readonly bodyField?: FieldModel;
  readonly responseField?: FieldModel;
}

export interface SdkMethodModel {
  readonly name: string;
  readonly args: readonly { readonly field: FieldModel; readonly optional: boolean }[];
  /** Request fields that are no positional arguments. */
  readonly params: readonly FieldModel[];
  /** The method returns this field of the response. */
  readonly returns?: FieldModel;
}

export interface CliCommandModel {
  readonly group: string;
  /** Words after the group; empty when the group itself is the command. */
  readonly words: readonly string[];
  readonly positionals: readonly CliFieldModel[];
  readonly flags: readonly CliFieldModel[];
}

export type CliFieldType =
  | 'string'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'enum'
  | 'timestamp'
  | 'map'
  | 'json'
  | 'bytes';

/** `file`: the value is a path. `text`: it is the document itself, or `@path`. Either may be `-`. */
export type CliDocument = 'file' | 'text';

export type SizeLimit = { readonly bytes: number } | { readonly characters: number };

export interface CliFieldModel {
  /** The field itself; for a flag made of a nested message's field, that inner field. */
  readonly field: FieldModel;
  /** JSON path in the request: `limits.memoryMb`. */
  readonly path: string;
  readonly flag: string;
  readonly short?: string;
  readonly type: CliFieldType;
  readonly values?: readonly string[];
  readonly repeated: boolean;
  readonly required: boolean;
  readonly hidden: boolean;
  readonly sensitive: boolean;
  readonly placeholder: string;
  readonly description: string;
  readonly rest: boolean;
  readonly format?: string;
  readonly document?: CliDocument;
  /** Documents and secrets have it: files may hold them. */
  readonly limit?: SizeLimit;
  readonly packedAbove?: number;
}

export interface MessageModel {
  readonly desc: DescMessage;
  readonly typeName: string;
  /** Name without the package, parents joined: `RunLimits` for `Run.Limits`. */
  readonly name: string;
  /** Proto package. */
  readonly package: string;
  readonly comment: string;
  readonly fields: readonly FieldModel[];
  /**
   * Proto name of the bool field whose bare value, `true` or `false`, is the JSON while no other field is
   * set.
   */
  readonly bare?: string;
}

export interface FieldModel {
  readonly desc: DescField;
  /** `team_id` */
  readonly name: string;
  /** `teamId` */
  readonly json: string;
  /** The property name in protobuf-es messages; differs from `json` for a few reserved names only. */
  readonly local: string;
  readonly comment: string;
  readonly type: FieldType;
  readonly repeated: boolean;
  /** Map with string-like keys; `type` is the value's. */
  readonly map: boolean;
  /** Declared `optional`, or a member of a oneof. */
  readonly optional: boolean;
  readonly oneof?: string;
  /** A caller must send it: a variable of the path, field_behavior REQUIRED, or a buf.validate rule. */
  readonly required: boolean;
  /**
   * A server always sends it: required, or implicit in proto3 (scalars, enums, lists and maps without
   * `optional`).
   */
  readonly present: boolean;
  /** Set by the service, in a message that callers send too; what stands in answers alone does not say it. */
  readonly outputOnly: boolean;
  readonly sensitive: boolean;
  readonly rules: FieldRules;
  readonly cli: {
    readonly flag?: string;
    readonly short?: string;
    readonly hidden: boolean;
    readonly placeholder?: string;
    readonly format?: string;
    readonly rest: boolean;
    readonly document?: CliDocument;
  };
  /** Longest value that the rules allow; nothing where none says it. */
  readonly limit?: SizeLimit;
  /** Most bytes that are sent of a document that is packed beyond them. */
  readonly packedAbove?: number;
  /** May be given in the query of a request whose body is the whole message. */
  readonly inQuery: boolean;
  /** No API key may set it. */
  readonly sessionOnly: boolean;
}

export type FieldType =
  | { readonly kind: 'string' | 'bytes' | 'boolean' }
  | { readonly kind: 'integer'; readonly unsigned: boolean; readonly wide: boolean }
  | { readonly kind: 'number' }
  | { readonly kind: 'enum'; readonly enum: EnumModel }
  | { readonly kind: 'message'; readonly message: MessageModel }
  /** Well-known types with a JSON form of their own. */
  | {
      readonly kind:
        | 'timestamp'
        | 'duration'
        | 'fieldMask'
        | 'struct'
        | 'value'
        | 'list'
        | 'empty'
        | 'any'
        | 'httpBody';
    };

/**
 * The rules of buf.validate that JSON Schema can say too; of a repeated field or map, `items` are those of an
 * item.
 */
export interface FieldRules {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly const?: string | number | boolean;
  readonly in?: readonly (string | number)[];
  readonly items?: FieldRules;
}

export interface EnumModel {
  readonly desc: DescEnum;
  readonly typeName: string;
  readonly name: string;
  readonly package: string;
  readonly comment: string;
  /** Without the zero value when that means "not stated". */
  readonly values: readonly EnumValueModel[];
}

export interface EnumValueModel {
  /** `RUN_STATUS_RUNNING` */
  readonly name: string;
  /** `running` */
  readonly json: string;
  readonly number: number;
  readonly comment: string;
  /** Least role that grants a scope on its team. */
  readonly leastRole?: Role;
  /** An agent may hold the scope. */
  readonly agents?: true;
}
