# keywayd and the keyway command on Debian 12.
#
#   docker build -t keyway .
#   docker run -p 127.0.0.1:9595:9595 -v keyway-data:/var/lib/keyway keyway
#
# The data of the embedded store is in /var/lib/keyway. Another policy: -v FILE:/etc/keyway/keyway.yaml:ro
FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends gcc libc6-dev cmake ninja-build pkg-config python3 thrift-compiler \
        libglib2.0-dev libuv1-dev libyaml-dev libssl-dev libxxhash-dev libpcre2-dev librocksdb-dev libhiredis-dev libjemalloc-dev libmicrohttpd-dev \
        libsystemd-dev libthrift-c-glib-dev libjson-glib-dev libcsv-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr \
 && cmake --build build/release \
 && DESTDIR=/out cmake --install build/release --strip

FROM debian:12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends libglib2.0-0 libuv1 libyaml-0-2 libssl3 libpcre2-8-0 libxxhash0 librocksdb7.8 libhiredis0.14 libjemalloc2 \
        libmicrohttpd12 libsystemd0 libthrift-c-glib0 libjson-glib-1.0-0 libcsv3 ca-certificates tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 595 --home-dir /var/lib/keyway --create-home keyway
COPY --from=build /out/ /
COPY packaging/docker/keyway.yaml /etc/keyway/keyway.yaml
USER keyway
WORKDIR /var/lib/keyway
VOLUME /var/lib/keyway
EXPOSE 9595 9596
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["keyway", "tables"]
ENTRYPOINT ["keywayd"]
CMD ["--config", "/etc/keyway/keyway.yaml"]
