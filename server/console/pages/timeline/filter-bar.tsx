import type { TimelineEntry } from '@svc/sdk';
import { Button } from '../../button.tsx';
import { Icon } from '../../icons.tsx';
import {
  choices,
  clearFilter,
  currentFilter,
  isFiltering,
  setFilter,
  STATUSES,
  type Filter,
} from './filter.ts';
import { sourceName, sourceOf } from './words.ts';

export function FilterBar({
  entries,
  shown,
}: {
  readonly entries: readonly TimelineEntry[];
  readonly shown: number;
}) {
  const filter = currentFilter();
  const pairs = (values: readonly string[]) => values.map((value) => [value, value] as const);
  const branches = pairs(choices(entries, filter.branch, ({ branch }) => branch));
  const sources = choices(entries, filter.source, sourceOf).map((each) => [each, sourceName(each)] as const);
  return (
    <div class="filter" role="search" aria-label="Filter the timeline">
      <label class="filter-box">
        <span class="visually-hidden">Filter by name, commit, branch, person or runner</span>
        <Icon of="search" />
        <input
          type="search"
          placeholder="Name, commit, person…"
          value={filter.text}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => setFilter({ text: event.currentTarget.value })}
        />
      </label>
      <Choice name="status" label="Status" all="Any status" options={STATUSES} filter={filter} />
      <Choice name="branch" label="Branch" all="Any branch" options={branches} filter={filter} />
      <Choice name="source" label="Source" all="Any source" options={sources} filter={filter} />
      {isFiltering(filter) && <Button text="Clear" look="quiet small" onClick={clearFilter} />}
      <span class="filter-count" role="status">
        {isFiltering(filter) ? `${shown} of ${entries.length} loaded` : ''}
      </span>
    </div>
  );
}

interface ChoiceProps {
  readonly name: Exclude<keyof Filter, 'text'>;
  readonly label: string;
  readonly all: string;
  readonly options: ReadonlyArray<readonly [value: string, name: string]>;
  readonly filter: Filter;
}

function Choice({ name, label, all, options, filter }: ChoiceProps) {
  const chosen = filter[name];
  return (
    <select
      class={chosen === '' ? 'choice' : 'choice choice-made'}
      aria-label={label}
      value={chosen}
      onChange={(event) => setFilter({ [name]: event.currentTarget.value })}
    >
      <option value="">{all}</option>
      {options.map(([value, shown]) => (
        <option key={value} value={value}>
          {shown}
        </option>
      ))}
    </select>
  );
}
