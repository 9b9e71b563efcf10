import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const ALERTS_FILE = fileURLToPath(new URL('../../../deploy/prometheus/alerts.yml', import.meta.url));

interface AlertFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
    }[];
  }[];
}

const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as AlertFile;

export const alertRules = groups.flatMap(({ rules }) =>
  rules.map(({ alert, expr, annotations: { summary, description, runbook_url: runbookUrl } }) => ({
    alert,
    expr,
    summary,
    description,
    runbookUrl,
  })),
);
