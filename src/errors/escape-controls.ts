/** Control characters, line separators, and what turns the direction of writing: they steer what shows the text. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text of one line, with what would steer a terminal or a log escaped as JSON does it. */
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The same of a text whose lines are its own. */
export function escapeControlsInLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}
