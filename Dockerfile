# syntax=docker/dockerfile:1
# The image: one static binary, and the programs that it runs to fetch (git, ssh). No shell is needed by it; what Alpine
# brings along is what git and ssh need. It runs as nobody in particular on a root that cannot be written.
# Not Alpine: the lock has the bundler for glibc.
FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS ui
WORKDIR /src
COPY web/package.json web/package-lock.json ./
RUN PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --no-save
COPY web .
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26-alpine AS build
ARG TARGETOS TARGETARCH VERSION=dev
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=ui /src/dist web/dist
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/cache \
    GOCACHE=/cache CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/towline ./cmd/towline

FROM alpine:3.22 AS run
RUN apk add --no-cache git openssh-client-default ca-certificates && \
    adduser -D -u 999 -h /data towline && chown 999:999 /data
COPY --from=build /out/towline /usr/local/bin/towline
RUN ln -s towline /usr/local/bin/argocd
USER 999:999
WORKDIR /data
VOLUME ["/data", "/tmp"]
EXPOSE 8080 8082 8083
ENTRYPOINT ["/usr/local/bin/towline"]
CMD ["run", "--data=/data"]
