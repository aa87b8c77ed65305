/** Spells enum values in JSON: the documented words (`running`), while the contracts keep prefixed names. */
import { getOption, hasOption, type DescEnum, type DescEnumValue } from '@bufbuild/protobuf';
import { value as valueOption } from '../gen/svc/options/v1/options_pb.ts';
import { perKey } from './per-key.ts';

export interface EnumNames {
  /** Spelling by number; a number without a value has none. */
  readonly byNumber: ReadonlyMap<number, string>;
  readonly byName: ReadonlyMap<string, number>;
}

export const enumNames = perKey((desc: DescEnum): EnumNames => {
  const byNumber = new Map<number, string>();
  const byName = new Map<string, number>();
  for (const item of desc.values) {
    const name = spell(desc, item);
    const other = byName.get(name);
    if (other !== undefined && other !== item.number) {
      throw new Error(
        `${desc.typeName}: "${name}" is the JSON spelling of two values; give one a (svc.options.v1.value).name`,
      );
    }
    byName.set(name, item.number);
    // An alias keeps the spelling of the first value that has its number, as protobuf does.
    if (!byNumber.has(item.number)) byNumber.set(item.number, name);
  }
  return { byNumber, byName };
});

function spell(desc: DescEnum, item: DescEnumValue): string {
  const own = hasOption(item, valueOption) ? getOption(item, valueOption).name : undefined;
  return enumValueJson(item.name, desc.name, own);
}

/** Spells `(RUN_STATUS_RUNNING, RunStatus)` as `running`; the value option of the contract wins. */
export function enumValueJson(valueName: string, enumName: string, option: string | undefined): string {
  if (option !== undefined && option !== '') return option;
  const prefix = enumPrefix(enumName);
  return (valueName.startsWith(prefix) ? valueName.slice(prefix.length) : valueName).toLowerCase();
}

/**
 * Value names of `RunStatus` begin with `RUN_STATUS_`, of `OIDCIssuer` with `OIDC_ISSUER_`, as buf lint wants
 * it.
 */
export function enumPrefix(enumName: string): string {
  const snake = enumName.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4');
  return `${snake.toUpperCase()}_`;
}
