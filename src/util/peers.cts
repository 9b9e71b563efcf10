import { fileURLToPath } from 'node:url';
import { findPackage, IS_BUNDLED, manifestOf } from './package-files.cjs';

/** The path of `@nestjs/core`, on its own or in a stack trace. */
const NEST = /(?:^|\(|at (?:async )?)((?:file:|[a-z]:)?[\\/].*[\\/]@nestjs[\\/]core)[\\/]/im;

// The first that a host loads of the package. npm leaves its peers out with `--legacy-peer-deps`, and Yarn always; a bundler has
// found them all.
if (!IS_BUNDLED) assertPeers();

function assertPeers(): void {
  const { peerDependencies, peerDependenciesMeta } = manifestOf();
  const required = Object.keys({ ...peerDependencies }).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  const missing = required.filter((name) => findPackage(name) === undefined);
  if (missing.length === 0) return;
  const nest = ownNest();
  // The newest may be for another version of Nest.
  const suffix = nest === undefined ? '' : `@${parseInt(manifestOf(nest).version, 10)}`;
  const packages = missing.map((name) => (name.startsWith('@nestjs/') ? name + suffix : name));
  throw new Error(`plant-store needs packages that are not installed: run "npm install ${packages.join(' ')}"`);
}

function ownNest(): string | undefined {
  return NEST.exec(findPackage('@nestjs/core') ?? '')?.[1];
}

/** Its injector constructs the classes. */
function callingNest(): string | undefined {
  const folder = NEST.exec(new Error().stack ?? '')?.[1];
  return folder?.startsWith('file:') ? fileURLToPath(folder) : folder;
}

/**
 * To be called in a constructor with what Nest injects by a class of `@nestjs/core`: each copy of it knows only its own classes.
 *
 * @throws Error that says where the copies are, if nothing was injected
 */
export function assertOneNest(injected: object | undefined): void {
  if (injected !== undefined) return;
  const [theirs, own] = [callingNest(), ownNest()].map((folder) =>
    folder === undefined ? 'one in a bundle' : `${manifestOf(folder).version} in ${folder}`,
  );
  throw new Error(
    `Two copies of @nestjs/core are installed: the application has ${theirs}, the store ${own}. Nest knows the classes of one only. ` +
      'Give both the same version, in one place: see `npm ls @nestjs/core`, and `npm dedupe` (`pnpm dedupe`), or set it in `overrides` ' +
      '(Yarn: `resolutions`) of the package.json at the top',
  );
}
