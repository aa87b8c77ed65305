import { describe, expect, it } from 'vitest';
import {
  asIs,
  choice,
  ConfigError,
  expected,
  flag,
  number,
  optional,
  parts,
  readSettings,
  required,
  text,
} from './settings.ts';

const TABLE = {
  port: number('PORT', { about: 'Port.', fallback: 80, min: 1, max: 99 }),
  level: choice('LEVEL', { about: 'Level.', values: ['low', 'high'], fallback: 'low' }),
  names: text('NAMES', { about: 'Names.', type: 'names', fallback: 'a,b', parse: parts }),
  key: required('KEY', { about: 'Key.', type: 'key', what: 'a key', parse: asIs }),
  inner: {
    open: flag('OPEN', { about: 'Open.', fallback: true }),
    note: optional('NOTE', {
      about: 'Note.',
      type: 'word',
      absent: 'none',
      parse: (given) => (given === 'bad' ? expected(given, 'a good word') : given.length),
    }),
  },
};

const read = (env: Record<string, string>) => readSettings(TABLE, env, () => undefined);

describe('readSettings()', () => {
  it('gives defaults for what is not set or empty, in the shape of the table', () => {
    expect(read({ KEY: 'k', PORT: '', NOTE: '  ' })).toEqual({
      port: 80,
      level: 'low',
      names: ['a', 'b'],
      key: 'k',
      inner: { open: true, note: undefined },
    });
  });

  it('gives what is set, as the program uses it', () => {
    expect(
      read({ KEY: 'k', PORT: '7', LEVEL: 'high', NAMES: ' x , ,y', OPEN: 'OFF', NOTE: ' four ' }),
    ).toEqual({ port: 7, level: 'high', names: ['x', 'y'], key: 'k', inner: { open: false, note: 4 } });
  });

  it('names everything that is wrong, what no single setting sees too', () => {
    const env = { PORT: '100', LEVEL: 'loud', OPEN: 'maybe', NOTE: 'bad' };
    const crossed = () =>
      readSettings(TABLE, env, (config, problem) => problem(`PORT counts as ${config.port} here`));
    expect(crossed).toThrow(ConfigError);
    expect(crossed).toThrow(
      [
        'configuration is wrong:',
        'PORT is "100", expected a whole number from 1 to 99',
        'LEVEL is "loud", expected one of low, high',
        'KEY is not set, expected a key',
        'OPEN is "maybe", expected true or false',
        'NOTE is "bad", expected a good word',
        'PORT counts as 80 here',
      ].join('\n  - '),
    );
  });
});
