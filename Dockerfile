# The service with its production dependencies, as a user without rights. `docker build -t quotebook .`
FROM node:24-trixie-slim AS build
WORKDIR /app
# First what changes seldom, so that the layer of the dependencies is kept.
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# uWebSockets.js comes with builds for every platform, and once more for Node 20: 220 MB that are not loaded here.
RUN npm run build && npm prune --omit=dev \
  && rm -r node_modules/uws-node20 && find node_modules/uws-native -name '*.node' ! -name '*_linux_*' -delete

FROM node:24-trixie-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/contracts/artifacts contracts/artifacts
COPY --from=build /app/dist/src dist/src
COPY --from=build /app/dist/web dist/web
RUN mkdir -p -m 700 /data && chown node:node /data
USER node
# Inside a container only its own network sees this; what is let out is decided where it is run.
ENV QUOTEBOOK_HOST=0.0.0.0 QUOTEBOOK_PORT=8080 QUOTEBOOK_DATA_DIR=/data QUOTEBOOK_LOG_FORMAT=json
EXPOSE 8080
VOLUME /data
# Alive, not ready: a service that catches up with its chains is not to be restarted for it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.QUOTEBOOK_PORT}/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "--enable-source-maps", "dist/src/cli/quotebook.js"]
CMD ["serve"]
