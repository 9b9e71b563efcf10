# To pin it: --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS base
WORKDIR /app
COPY package.json package-lock.json ./

FROM base AS build
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
COPY . .
# For --version: --build-arg COMMIT="$(git rev-parse HEAD)"
ARG COMMIT
RUN npm run build && chmod +x dist/cli.js && echo "$COMMIT" >dist/commit

FROM base AS production
COPY deploy/docker deploy/docker
# For npm, what production leaves out is missing in the list of packages.
RUN --mount=type=cache,target=/root/.npm npm run install:prod \
 && npm pkg delete devDependencies && npm sbom --sbom-format=cyclonedx >sbom.json
COPY --from=build /app/dist dist
# What Node.js never loads here: maps, declarations, and Prisma's compilers of queries for other databases.
# Files have the modes of the clone: after a strict umask the service could not read them.
RUN find dist node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name .tsbuildinfo -o -name '*.mts' \) -delete \
 && find node_modules/@prisma/client/runtime -name 'query_compiler*' ! -name '*_fast_bg.postgresql*.js' -delete \
 && chmod -R a+rX .

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
# A volume that is mounted on one of these folders takes its owner and mode.
RUN install -d -o node -g node -m 0750 /run/plant-store /run/plant-store-owner \
 && ln -s /app/dist/cli.js /usr/local/bin/plant-store
COPY --from=production /app/node_modules node_modules
COPY --from=production /app/package.json /app/sbom.json ./
COPY --from=production /app/deploy/docker deploy/docker
COPY --from=production /app/dist dist
# By number, so that an orchestrator can tell that it is not root.
USER 1000:1000
# Fails the build if something that the service loads was removed.
RUN plant-store openapi >/dev/null
EXPOSE 3000
# The address of the sources: --build-arg SOURCE=https://…
ARG SOURCE
ARG COMMIT
LABEL org.opencontainers.image.title="plant-store" \
      org.opencontainers.image.description="Stores plants: POST /plants, on PostgreSQL" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.revision="${COMMIT}"
HEALTHCHECK --start-period=60s --start-interval=1s --interval=10s --timeout=5s --retries=3 \
  CMD ["node", "deploy/docker/healthcheck.mjs"]
CMD ["node", "dist/main.js"]
