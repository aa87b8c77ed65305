/**
 * Comments of a source, and whether a machine takes one for a fragment. A comment is a sentence with subject
 * and verb; what stands above a field, a property or a constant may be a noun phrase, such as "Id of the
 * project". A tagger of words finds the verbs, so that it is wrong about some: such a sentence is worded
 * differently.
 */
import nlp from 'compromise/two';
import type { Source } from './sources.ts';

export interface Comment {
  readonly line: number;
  /** Lines joined, without what marks them as a comment. */
  readonly text: string;
  /** The line of code behind it. */
  readonly next: string;
}

const COMMENT = /\/\*\*(?=\s)([\s\S]*?)\*\/|((?:^[ \t]*\/\/ .*\n?)+)/gm;
/** Words to a tool, and code alone. */
const NO_WORDS = /^(oxlint|No TeamScope|@|<|#)|^`[^`]*`$|\$\{/;

export function commentsOf({ text }: Source): Comment[] {
  return [...text.matchAll(COMMENT)].flatMap((match) => {
    const [whole, block, lines = ''] = match;
    const mark = block === undefined ? /^\s*\/\/ ?/ : /^\s*\* ?/;
    const words = (block ?? lines)
      .split('\n')
      .map((line) => line.replace(mark, ''))
      .join(' ')
      .replace(/\s+/g, ' ')
      .trim();
    if (words === '' || NO_WORDS.test(words)) return [];
    const behind = text.slice(match.index + whole.length).replace(/^\s*\n/, '');
    const line = text.slice(0, match.index).split('\n').length;
    return [{ line, text: words, next: behind.split('\n')[0] ?? '' }];
  });
}

/** "Returns the …". */
const SAYS_WHAT_IT_DOES =
  /^[A-Z][a-z]+s (the|a|an|all|each|every|its|no|one|two|that|this|these|it|them|what|which|whether|how|who|where|when)\b/;
/** Sure signs, so that few comments are tagged, which takes some milliseconds each. */
const HAS_VERB = /\b(is|are|was|were|has|have|had|does|do|did|can|cannot|may|must|will|would|could)\b/;
/** "is", "has been", "will not be", with the participle behind it. */
const COMPOUND = '(#Auxiliary|#Copula|#Modal)+ (#Adverb|#Negative)? #Verb?';
const SIMPLE = '(#PresentTense|#PastTense|#Imperative)';

function countVerbs(words: ReturnType<typeof nlp>): number {
  const compound = words.match(COMPOUND);
  return compound.length + words.not(COMPOUND).match(SIMPLE).length;
}

/** Clauses that such a word begins need another one to be a sentence. */
const SUBORDINATE = /^(What|Whether|How|Which|Where|Who|Whose|When|That|Those)\b/;
const SUBORDINATORS = /\b(what|whether|how|which|where|who|whose|when|that)\b/gi;
/** Clauses that stand behind another one. */
const FURTHER = /\b(before|after|because|if|while|until|as)\b/gi;
/** What begins so is read twice, also where a verb comes in the end. */
const BACKWARDS = /^(Of|Whether)\b|^Where it is (true|false)\b/;
const PREPOSITION = /^(Of|As|With|From|For|By|At|On|To|In)\b/;
/** No noun phrase begins so. */
const NO_NOUN =
  /^(Of|As|With|From|For|By|At|On|To|In|Into|Per|Like|Than|Because|So|And|Or|But|Else|Also|Only|Not|Never|Null|Undefined|False|True|Absent|Unset|Empty|None|Its|Their|That|Those|What|Whether|How|Which|Where|Who|Whose|When|The whole|All of (it|them))\b/;
const QUOTED = /`[^`]*`|\{@link [^}]*\}/g;

/** What this line declares is a value: a field, a property, a constant, a type, a word of an enum. */
function isValue(line: string): boolean {
  const isStatement = /^\s*(if|for|while|return|await|expect|it|describe|test|switch)\b/.test(line);
  const isProperty =
    /^\s*(readonly |static |private |export const |const |public |declare )*[\w$'"-]+\??(: |\()/.test(line);
  const isFunction = /\)( =>|: .*=>| \{)/.test(line);
  return (
    (isProperty && !isStatement && !isFunction) ||
    /^\s*(repeated |optional |map<)?[\w.<>, ]+ \w+ = \d+/.test(line) ||
    /^\s*(export )?const [\w$]+(: [^=]+)? = (?!.*=>)(?!async|function|\()/.test(line) ||
    /^\s*(export )?(interface|type) |^message |^\s*enum |^\s*[A-Z_0-9]+ = \d+|^\s*\| /.test(line)
  );
}

export function isFragment({ text, next }: Pick<Comment, 'text' | 'next'>): boolean {
  const plain = text.replace(QUOTED, 'it').replace(/[“”‘’]/g, "'");
  const first = (/^.*?[.:;!?](?=\s|$)/.exec(plain)?.[0] ?? plain).replace(/[.:;!?]$/, '');
  if (BACKWARDS.test(first)) return true;
  const isMain = !SUBORDINATE.test(first) && !PREPOSITION.test(first);
  if (SAYS_WHAT_IT_DOES.test(first) || (isMain && HAS_VERB.test(first))) return false;
  const words = nlp(first);
  if (words.terms(0).has('#Verb')) return false;
  const verbs = countVerbs(words);
  if (verbs === 0) return !isValue(next) || NO_NOUN.test(first);
  if (isMain) return false;
  const further = SUBORDINATE.test(first) ? (first.match(FURTHER)?.length ?? 0) : 0;
  return verbs <= (first.match(SUBORDINATORS)?.length ?? 0) + further;
}
