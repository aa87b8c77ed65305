/** Picks the fields of `--json=id,state`. It is pure. */
import { getPath, isRecord, setPath } from './paths.ts';
import { nearest } from './suggest.ts';

/** Absent ones are null, so that every object has the same shape. */
export class FieldPicker {
  readonly #fields: readonly string[];
  readonly #found = new Set<string>();
  readonly #offered = new Set<string>();
  #picked = 0;

  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  pick(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.pick(item));
    if (!isRecord(value)) return value;
    this.#picked += 1;
    for (const name of Object.keys(value)) this.#offered.add(name);
    const picked: Record<string, unknown> = {};
    for (const field of this.#fields) {
      const inner = getPath(value, field);
      if (inner !== undefined) this.#found.add(field);
      setPath(picked, field, inner ?? null);
    }
    return picked;
  }

  /** Fields that no object had: most likely misspelt, though an optional field may be absent everywhere. */
  unknown(): readonly { readonly field: string; readonly meant: string | undefined }[] {
    if (this.#picked === 0) return [];
    return this.#fields
      .filter((field) => !this.#found.has(field))
      .map((field) => ({ field, meant: nearest(field, [...this.#offered]) }));
  }
}
