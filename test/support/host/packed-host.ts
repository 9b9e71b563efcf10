import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installedPackages } from '../documents/installed-packages.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Run {
  readonly status: number | null;
  readonly output: string;
}

/**
 * A folder that has this package installed, as `npm pack` makes it, with what it declares to need and nothing else: no
 * development dependency can stand in for one that is missing.
 */
export class PackedHost implements AsyncDisposable {
  private constructor(
    readonly folder: string,
    readonly tarball: string,
  ) {}

  static async create(): Promise<PackedHost> {
    const folder = await mkdtemp(join(tmpdir(), 'plant-store-host-'));
    succeed('npm', ['pack', '--ignore-scripts', '--offline', '--pack-destination', folder]);
    const [name = ''] = await readdir(folder);
    const host = new PackedHost(folder, join(folder, name));
    await host.install();
    return host;
  }

  get packageFolder(): string {
    return join(this.folder, 'node_modules/plant-store');
  }

  /** The files of the package, by their paths in it. */
  async files(): Promise<string[]> {
    return filesIn(this.packageFolder);
  }

  /** Runs Node in the folder, with nothing of this process's configuration. */
  node(...args: string[]): Run {
    const { PATH, HOME } = process.env;
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: this.folder,
      env: { PATH, HOME },
      encoding: 'utf8',
    });
    return { status, output: stdout + stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true });
  }

  private async install(): Promise<void> {
    succeed('tar', ['-xzf', this.tarball, '-C', this.folder]);
    await mkdir(join(this.folder, 'node_modules'));
    await rename(join(this.folder, 'package'), this.packageFolder);
    await this.link(await installedPackages('host'));
  }

  /** Adds the optional peers that the service uses. */
  async installForService(): Promise<void> {
    await this.link(await installedPackages('service'));
  }

  private async link(packages: readonly string[]): Promise<void> {
    for (const path of packages.filter((path) => path.lastIndexOf('node_modules/') === 0)) {
      if (existsSync(join(this.folder, path))) continue;
      await mkdir(dirname(join(this.folder, path)), { recursive: true });
      await symlink(join(ROOT, path), join(this.folder, path), 'junction');
    }
  }
}

/** The files below a folder, by their paths in it. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

function succeed(command: string, args: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    // npm is a script there.
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`);
}
