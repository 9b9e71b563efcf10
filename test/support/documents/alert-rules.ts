import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ALERTS_FILE = fileURLToPath(new URL('../../../deploy/prometheus/alerts.yml', import.meta.url));

/** An alert of the file, as far as the tests need it. */
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly summary: string;
  readonly description: string;
  readonly runbookUrl: string;
}

/** Reads the file line by line: the project has no YAML parser, and promtool checks the rest. */
export const alertRules: readonly AlertRule[] = readFileSync(ALERTS_FILE, 'utf8')
  .split(/^ +- (?=alert: )/m)
  .slice(1)
  .map((rule) => {
    const valueOf = (key: string): string => {
      const [, value = '', block = ''] = new RegExp(`^ *${key}: *(.*)\n((?: {10}.*\n)*)`, 'm').exec(rule) ?? [];
      return value === '>-' ? block.replace(/\s+/g, ' ').trim() : value.replace(/^'(.*)'$/, '$1');
    };
    return {
      alert: valueOf('alert'),
      expr: valueOf('expr'),
      summary: valueOf('summary'),
      description: valueOf('description'),
      runbookUrl: valueOf('runbook_url'),
    };
  });
