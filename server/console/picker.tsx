/** Chooses one of what has a name, under a label. */
interface PickerProps {
  readonly label: string;
  readonly of: ReadonlyArray<{ readonly id: string; readonly name: string }>;
  readonly value: string;
  /** Names the choice that narrows nothing. */
  readonly all?: string;
  readonly onPick: (id: string) => void;
}

export function Picker({ label, of, value, all, onPick }: PickerProps) {
  return (
    <label class="picker">
      <span>{label}</span>
      <select value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {all !== undefined && <option value="">{all}</option>}
        {of.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
