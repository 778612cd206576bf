# syntax=docker/dockerfile:1

# Build: a static binary. The Go tool stamps it with the version of the commit.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download && go mod verify
COPY . .
ENV CGO_ENABLED=0
RUN go build -trimpath -ldflags "-s -w" -o /out/causeway ./cmd/causeway \
 && mkdir -p /out/data

# Run: no shell, no packages, no root. The uid is a number, so that an
# orchestrator can see that it is not root.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/causeway /usr/local/bin/causeway
COPY --from=build --chown=65532:65532 /out/data /var/lib/causeway
USER 65532:65532
WORKDIR /var/lib/causeway

# Webhooks. The admin listener is 127.0.0.1:8081 inside the container unless the
# configuration says otherwise and names tokens.
EXPOSE 8080
# Everything that was answered 200 is in here: keep it.
VOLUME /var/lib/causeway

# Orchestrators ask GET /healthz (alive) and GET /readyz (takes callbacks) on
# 8080 from outside; both answer without a token. Docker alone asks inside:
# doctor --ready exits 0 while callbacks are taken, whatever an account's token is worth.
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 \
    CMD ["/usr/local/bin/causeway", "doctor", "--ready", "--config", "/etc/causeway/causeway.yaml"]

# SIGTERM lets callbacks and calls in flight finish; allow 30 s.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/causeway"]
CMD ["serve", "--config", "/etc/causeway/causeway.yaml"]
