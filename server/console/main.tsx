/** Starts the console, which is one program for all of its pages. */
import { render } from 'preact';
import { checkSession } from './session.ts';
import { Shell } from './shell.tsx';

const root = document.getElementById('console');
if (root === null) throw new Error('the page has no element #console');
render(<Shell />, root);
void checkSession();
