import { expect, it } from 'vitest';
import { withArticle } from './article.ts';

it('gives a word the article that it is spoken with', () => {
  const words = [
    'environment',
    'artifact',
    'incident',
    'API key',
    'object',
    'undefined',
    'budget',
    'user',
    'map',
  ];
  expect(words.map(withArticle)).toEqual([
    'an environment',
    'an artifact',
    'an incident',
    'an API key',
    'an object',
    'an undefined',
    'a budget',
    'a user',
    'a map',
  ]);
});
