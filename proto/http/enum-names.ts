/** Spells enum values in JSON: the documented words (`running`), while the contracts keep prefixed names. */
import { getOption, hasOption, type DescEnum, type DescEnumValue } from '@bufbuild/protobuf';
import { value as valueOption } from '../gen/svc/options/v1/options_pb.ts';

export interface EnumNames {
  /** Spelling by number; a number without a value has none. */
  readonly byNumber: ReadonlyMap<number, string>;
  readonly byName: ReadonlyMap<string, number>;
}

const cache = new WeakMap<DescEnum, EnumNames>();

export function enumNames(desc: DescEnum): EnumNames {
  const known = cache.get(desc);
  if (known !== undefined) return known;
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
  const names = { byNumber, byName };
  cache.set(desc, names);
  return names;
}

function spell(desc: DescEnum, item: DescEnumValue): string {
  const own = hasOption(item, valueOption) ? getOption(item, valueOption).name : '';
  if (own !== '') return own;
  const prefix = enumPrefix(desc.name);
  return (item.name.startsWith(prefix) ? item.name.slice(prefix.length) : item.name).toLowerCase();
}

/** `RunState` is `RUN_STATE_`, `OIDCIssuer` is `OIDC_ISSUER_`. */
function enumPrefix(name: string): string {
  const snake = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, '$1$3_$2$4');
  return `${snake.toUpperCase()}_`;
}
